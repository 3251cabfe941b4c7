"""What tools/advise does: an estimate of what the features of pg_dense would save."""

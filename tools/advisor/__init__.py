"""The code of tools/advise: an estimate of the savings of the features of pg_dense."""

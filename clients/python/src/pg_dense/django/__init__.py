"""The compact types and split tables in Django: add "pg_dense.django" to INSTALLED_APPS."""

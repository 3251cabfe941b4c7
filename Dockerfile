# An image of PostgreSQL with the extensions of pg_dense that need no patch of the server:
#
#	tools/debs --build trixie
#	docker build --tag pg_dense .
#
# MAJOR and SUITE are build arguments.  tools/debs must have built the packages for SUITE.
ARG MAJOR=17
ARG SUITE=trixie
FROM postgres:$MAJOR-$SUITE
ARG MAJOR
ARG SUITE
COPY build/debs/$SUITE/postgresql-$MAJOR-pg-dense*.deb /tmp/debs/
RUN apt-get update \
	&& apt-get install --yes --no-install-recommends /tmp/debs/*.deb \
	&& rm -rf /tmp/debs /var/lib/apt/lists/*

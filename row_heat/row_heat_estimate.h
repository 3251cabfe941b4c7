/*-------------------------------------------------------------------------
 *
 * row_heat_estimate.h
 *	  How unevenly the accesses to a table are distributed.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  row_heat/row_heat_estimate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROW_HEAT_ESTIMATE_H
#define ROW_HEAT_ESTIMATE_H

#include "row_heat.h"
#include "utils/rel.h"

/* Shares of the rows whose accesses are estimated */
#define RH_SHARES	4
extern const double rh_row_shares[RH_SHARES];

typedef struct RhEstimate
{
	double		pages;			/* of the table */
	double		rows;			/* of the table, by its statistics */
	double		accesses;		/* recorded */
	double		shares[RH_SHARES];	/* of accesses, by the hottest rows */
	double		hot_share;		/* of accesses, by the hot rows */
	double		hot_rows;		/* their number, or 0 if no access is known */
	double		hot_pages;		/* pages that take as many accesses now */
	double		packed_pages;	/* pages that the hot rows would fill */
	bool		gain;			/* whether it pays to store them together */
} RhEstimate;

extern void rh_estimate(Relation rel, RhEstimate *estimate);
extern double rh_estimate_loose(Relation rel, const RhEstimate *whole);
extern uint32 rh_end_of_page(const RhRow *rows, uint32 n, uint32 begin);
extern BlockNumber rh_drop_packed(RhRow *rows, uint32 *n, const RhEstimate *whole);

#endif							/* ROW_HEAT_ESTIMATE_H */

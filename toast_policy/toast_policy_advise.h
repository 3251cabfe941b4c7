/*-------------------------------------------------------------------------
 *
 * toast_policy_advise.h
 *	  Interfaces between the files of toast_policy.advise().
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy_advise.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TOAST_POLICY_ADVISE_H
#define TOAST_POLICY_ADVISE_H

#include "lib/stringinfo.h"

#include "toast_policy_compare.h"

/* A relation that ALTER TABLE must change: the table itself, or a partition */
typedef struct TpPlace
{
	Oid			relid;
	char		relkind;
	Oid			amoid;
	char		storage;		/* of the column */
	char		compression;
	int			low_target;		/* see tp_get_low_target() */
} TpPlace;

/* A column, and the way in which it shall be stored */
typedef struct TpProposal
{
	Form_pg_attribute att;
	TpComparison *comparison;
	const TpStrategy *now;		/* NULL if it is none of the strategies */
	const TpStrategy *pick;		/* is now if nothing is proposed */
	bool		is_stored;		/* are the values stored so already? */
	bool		governed;
	TpPlace    *places;
	int			nplaces;
} TpProposal;

/* toast_policy_advise_choose.c */
extern void tp_block_strategies(Relation rel, TpProposal *proposals, int nproposals,
								int number);
extern void tp_choose(TpProposal *proposal);
extern char *tp_proposal_reason(const TpProposal *proposal, int64 bytes);
extern char *tp_proposal_risk(const TpProposal *proposal);

/* toast_policy_advise_statement.c */
extern void tp_find_places(TpProposal *proposal, Oid relid);
extern bool tp_any_own(const TpProposal *proposal);
extern void tp_make_statements(const TpProposal *proposal, Relation rel,
							   StringInfo statement, StringInfo undo);

#endif							/* TOAST_POLICY_ADVISE_H */

/*-------------------------------------------------------------------------
 *
 * toast_policy.h
 *	  Interfaces between the files of the toast_policy extension.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  toast_policy/toast_policy.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TOAST_POLICY_H
#define TOAST_POLICY_H

#include "access/heaptoast.h"
#include "access/rewriteheap.h"
#include "access/tableam.h"
#include "utils/array.h"
#include "utils/rel.h"

/*
 * Codecs.  The types ztext and zbytea store the first four numbers on disk, so
 * these four numbers must never change.
 */
typedef enum TpCodec
{
	TP_NONE = 0,
	TP_LZ4 = 1,
	TP_SNAPPY = 2,
	TP_ZSTD = 3,
	TP_PGLZ = 4					/* not used by the types */
} TpCodec;

/*
 * Highest level of LZ4_compress_HC(); level 0 stands for LZ4_compress_fast().
 */
#define TP_LZ4_MAX_LEVEL	12

/*
 * Default and highest level of zstd, and highest level for users without a
 * special privilege.
 */
#define TP_ZSTD_DEFAULT_LEVEL	3
#define TP_ZSTD_MAX_LEVEL	22
#define TP_ZSTD_USER_LEVEL	19

/*
 * Number of TOAST chunks for a value that takes the given size in the TOAST
 * table.
 */
#define TP_CHUNKS(size) \
	(((int64) (size) + TOAST_MAX_CHUNK_SIZE - 1) / TOAST_MAX_CHUNK_SIZE)

/* toast_policy.c: the settings */
extern int	tp_min_size;		/* bytes */
extern int	tp_min_saved_chunks;
extern double tp_min_saving;
extern bool tp_early_abort;
extern int	tp_lz4_level;
extern int	tp_type_codec;		/* a TpCodec */
extern int	tp_zstd_level;
extern bool tp_recompress_source;
extern bool tp_out_of_line;

/* toast_policy_codec.c */
extern const char *tp_codec_name(TpCodec codec);
extern char *tp_compress(TpCodec codec, int level, const char *source,
						 int32 rawsize, int header, int32 limit,
						 int32 *compressed);
extern bool tp_decompress(TpCodec codec, const char *source, int32 size,
						  char *dest, int32 rawsize);
extern bool tp_may_give_up(TpCodec codec, int level, int32 rawsize);
extern bool tp_incompressible(TpCodec codec, const char *source, int32 rawsize);
extern int32 tp_size_limit(int32 rawsize, int32 overhead, int32 room);

/* Outcome for a value that the policy examined */
typedef enum TpOutcome
{
	TP_COMPRESSED,
	TP_KEPT_RAW,				/* compressing does not pay */
	TP_ABORTED					/* probe: cannot be compressed */
} TpOutcome;

extern struct varlena *tp_compress_value(TpCodec codec, int level,
										 const struct varlena *value, int32 room,
										 bool probe, TpOutcome *outcome);

/* toast_policy_rule.c */
typedef enum TpOccasion
{
	TP_INSERT,
	TP_UPDATE,
	TP_RECOMPRESS,				/* decide anew about all governed values */
	TP_REWRITE					/* VACUUM FULL: compress no governed value */
} TpOccasion;

/* What heap shall do with a row */
typedef struct TpRowPlan
{
	bool	   *moved;			/* values to move out of line; NULL if heap
								 * decides */
} TpRowPlan;

extern bool tp_column_is_virtual(Form_pg_attribute att);
extern bool tp_column_is_governed(Form_pg_attribute att);
extern int	tp_governed_count(Relation rel);
extern bool tp_row_is_small(Relation rel, TupleTableSlot *slot,
							TpOccasion occasion);
extern bool tp_row_apply(Relation rel, Datum *values, const bool *isnull,
						 TpOccasion occasion, TpRowPlan *plan);
extern void tp_row_keep_pointers(Relation rel, TupleTableSlot *slot,
								 TpRowPlan *plan);

/*
 * toast_policy_out_of_line.c: a relation whose cache entry is changed, so that
 * heap's toaster follows the policy
 */
typedef struct TpSteering
{
	Relation	rel;
	const bool *moved;
	int			target;			/* toast_tuple_target */
	TupleDesc	desc;			/* the descriptor that was changed first */
	char	   *storage;		/* its former storage */
	bool		replaced;		/* has the entry another descriptor now? */
	void	   *options;		/* the options that were changed last */
	int			former_target;
	struct TpSteering *outer;
} TpSteering;

extern Size tp_out_of_line_size(Relation rel);
extern bool tp_needs_toast_table(Relation rel);
extern void tp_table_born(Oid relid);
extern void tp_steer(TpSteering *steering, Relation rel, const TpRowPlan *plan);
extern void tp_release(TpSteering *steering);
extern void tp_out_of_line_init(void);

/* toast_policy_am.c */
extern const TableAmRoutine *tp_access_method(void);
extern void tp_call_as_heap(Relation rel, void (*function) (void *arg),
							void *arg);
extern void tp_am_init(void);

/* toast_policy_compare.c */
extern void tp_check_kind(Relation rel);

/* toast_policy_create.c */
extern void tp_create_init(void);
extern void tp_table_created(Oid relid);
extern void tp_column_changed(Oid relid, AttrNumber attnum, bool added);

/* toast_policy_ddl.c */
extern Oid	tp_access_method_oid(bool missing_ok);
extern void tp_prevent_if_read_only(const char *function);
extern List *tp_all_tables(void);
extern Datum *tp_get_names(ArrayType *names, int *count);
extern void tp_fix_index_storage(Relation table, Oid indexid);
extern Oid	tp_get_access_method(Oid relid);
extern void tp_set_access_method(Oid relid, Oid amoid);
extern List *tp_lock_tables(Oid relid, const char *function);
extern AttrNumber tp_find_column(Oid relid, const char *name);
extern void tp_enable_tables(List *relids, List *columns);
extern void tp_execute(const char *statement);

/* toast_policy_ddl_choose.c */
extern List *tp_choose_columns(Relation rel, ArrayType *names);
extern void tp_refuse_if_useless(List *relids, Oid amoid);
extern void tp_tell_external_columns(List *relids, Oid amoid, ArrayType *names);

/* toast_policy_ddl_out_of_line.c */
extern int	tp_get_low_target(Oid relid);
extern void tp_set_target(Oid relid, int target, AttrNumber attnum);
extern void tp_tell_moved_columns(List *relids, ArrayType *names);

/* toast_policy_hooks.c */
extern void tp_hooks_init(void);

/* toast_policy_recompress.c */
extern bool tp_recompressing(Relation rel);
extern void tp_report_rows(double done, double total);
extern void tp_copy_tuple(Relation OldHeap, Relation NewHeap, HeapTuple tuple,
						  Datum *values, bool *isnull,
						  TransactionId OldestXmin, RewriteState rwstate);
extern void tp_end_copy(Relation OldHeap, Relation NewHeap,
						RewriteState rwstate);

/* import/heapam_copy.c */
extern void tp_copy_table(Relation OldHeap, Relation NewHeap,
						  Relation OldIndex, bool use_sort,
						  TransactionId OldestXmin, TransactionId xid_cutoff,
						  MultiXactId multi_cutoff, double *num_tuples,
						  double *tups_vacuumed, double *tups_recently_dead);

/* toast_policy_stats.c */
extern void tp_stats_init(void);
extern void tp_stats_forget(Oid relid);
extern void tp_stats_count(Oid relid, TpOutcome outcome, int32 bytes_in,
						   int32 bytes_out);

/* toast_policy_types.c */
extern bool tp_is_compressed_type(Oid typid);

#endif							/* TOAST_POLICY_H */

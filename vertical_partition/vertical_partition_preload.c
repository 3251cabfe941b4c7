/*-------------------------------------------------------------------------
 *
 * vertical_partition_preload.c
 *	  Check that new sessions load the library when they begin.
 *
 * Some statements call no function of the library, and so do not load it:
 * COPY ... TO, TRUNCATE, VACUUM and INSERT ... ON CONFLICT with columns.  So
 * split() requires the library to be preloaded.  The state of this session
 * does not show that: this session may have loaded the library itself, or may
 * have settings that other sessions will not get.  So check the settings that
 * sessions of this database begin with.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  vertical_partition/vertical_partition_preload.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_db_role_setting.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "vertical_partition.h"
#include "vertical_partition_compat.h"

PG_FUNCTION_INFO_V1(vp_check_preload);

#define SETTING "session_preload_libraries"
#define LIBRARY "vertical_partition"

/* Initial setting of a role in this database, or of all roles */
typedef struct RoleSetting
{
	Oid			role;			/* InvalidOid for all roles */
	bool		of_database;	/* for this database, or for all databases? */
	char	   *value;
} RoleSetting;

/* Split a list of libraries as the server does.  Return NIL for a list that the server rejects. */
static List *
libraries_of(const char *value)
{
	List	   *names;

	if (value == NULL || !SplitDirectoriesString(pstrdup(value), ',', &names))
		return NIL;
	return names;
}

/* Return true if the list has our library. */
static bool
preloads(const char *value)
{
	ListCell   *lc;

	foreach(lc, libraries_of(value))
	{
		char	   *name = pstrdup(lfirst(lc));
		char	   *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
		size_t		length = strlen(base);

		if (length > strlen(DLSUFFIX) && strcmp(base + length - strlen(DLSUFFIX), DLSUFFIX) == 0)
			base[length - strlen(DLSUFFIX)] = '\0';
		if (strcmp(base, LIBRARY) == 0)
			return true;
	}
	return false;
}

/* Return the value of the setting in pg_db_role_setting.setconfig, or NULL. */
static char *
configured(ArrayType *config)
{
	Datum	   *items;
	bool	   *nulls;
	int			n;

	deconstruct_array(config, TEXTOID, -1, false, TYPALIGN_INT, &items, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		char	   *item = nulls[i] ? "" : TextDatumGetCString(items[i]);

		if (strncmp(item, SETTING "=", strlen(SETTING "=")) == 0)
			return item + strlen(SETTING "=");
	}
	return NULL;
}

/*
 * Return all settings that apply in this database: those of single roles, and
 * those for all roles.
 */
static List *
role_settings(void)
{
	List	   *result = NIL;
	Relation	rel = table_open(DbRoleSettingRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_db_role_setting form = (Form_pg_db_role_setting) GETSTRUCT(tuple);
		bool		isnull;
		Datum		config = heap_getattr(tuple, Anum_pg_db_role_setting_setconfig, RelationGetDescr(rel), &isnull);
		char	   *value = isnull ? NULL : configured(DatumGetArrayTypeP(config));
		RoleSetting *setting;

		if (value == NULL || (OidIsValid(form->setdatabase) && form->setdatabase != MyDatabaseId))
			continue;
		setting = palloc(sizeof(RoleSetting));
		setting->role = form->setrole;
		setting->of_database = OidIsValid(form->setdatabase);
		setting->value = value;
		result = lappend(result, setting);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

/*
 * Return the setting of a role.  InvalidOid stands for all roles.  A setting
 * for this database has precedence over a setting for all databases.
 */
static RoleSetting *
setting_of(List *settings, Oid role)
{
	RoleSetting *result = NULL;
	ListCell   *lc;

	foreach(lc, settings)
	{
		RoleSetting *setting = (RoleSetting *) lfirst(lc);

		if (setting->role == role && (result == NULL || setting->of_database))
			result = setting;
	}
	return result;
}

/*
 * Return the value from the server's configuration, which applies to sessions
 * without any other setting.  Return NULL if this session began with another
 * value of the setting, because then it cannot see the configured value.
 */
static char *
server_setting(void)
{
	struct config_generic *record = compat_find_option(SETTING);

	if (record == NULL || record->vartype != PGC_STRING)
		return NULL;
	if (record->source <= PGC_S_ARGV)
		return *compat_string_option(record)->variable;
	if (record->reset_source <= PGC_S_ARGV)
		return compat_string_option(record)->reset_val;
	return NULL;
}

/* Return true if the role can log in. */
static bool
can_login(Oid role)
{
	HeapTuple	tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(role));
	bool		result = false;

	if (HeapTupleIsValid(tuple))
	{
		result = ((Form_pg_authid) GETSTRUCT(tuple))->rolcanlogin;
		ReleaseSysCache(tuple);
	}
	return result;
}

/*
 * Append the statement that adds our library to the libraries of a role, or
 * of all roles.  Write each library as a separate value: the server would
 * take a list in one value for a single name.
 */
static void
append_statement(StringInfo buf, const char *whose, const char *value, bool visible)
{
	ListCell   *lc;

	appendStringInfo(buf, "%sALTER %s SET %s = ", buf->len > 0 ? "\n" : "", whose, SETTING);
	if (!visible)
		appendStringInfoString(buf, "<what SHOW " SETTING " says to a superuser>, ");
	else
	{
		foreach(lc, libraries_of(value))
		{
			/* skip an empty name: with it, sessions could not start */
			if (*(char *) lfirst(lc) != '\0')
				appendStringInfo(buf, "%s, ", quote_literal_cstr(lfirst(lc)));
		}
	}
	appendStringInfo(buf, "'%s';", LIBRARY);
}

/*
 * vertical_partition_internal.check_preload(table text, force boolean)
 *		returns void
 *
 * Check that all new sessions of the database will preload the library.
 * "table" is the name of the table to be split, for the message.  Errors:
 * 55000 if some sessions will not preload the library.  The hint of the error
 * contains the statements that change this.  If "force" is true, emit a
 * notice instead.
 */
Datum
vp_check_preload(PG_FUNCTION_ARGS)
{
	char	   *table = text_to_cstring(PG_GETARG_TEXT_PP(0));
	bool		force = PG_GETARG_BOOL(1);
	const char *database = quote_identifier(get_database_name(MyDatabaseId));
	List	   *settings;
	RoleSetting *everybody;
	ListCell   *lc;
	StringInfoData detail;
	StringInfoData hint;

	if (preloads(shared_preload_libraries_string))
		PG_RETURN_VOID();

	initStringInfo(&detail);
	initStringInfo(&hint);
	settings = role_settings();
	everybody = setting_of(settings, InvalidOid);
	if (everybody ? !preloads(everybody->value) : !preloads(server_setting()))
	{
		char	   *value = everybody ? everybody->value : server_setting();

		/*
		 * everybody may read pg_db_role_setting, but not the server's
		 * configuration
		 */
		append_statement(&hint, psprintf("DATABASE %s", database), value,
						 everybody || (value && (*value == '\0' || has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_SETTINGS))));
	}
	foreach(lc, settings)
	{
		RoleSetting *setting = (RoleSetting *) lfirst(lc);
		const char *role;

		if (!OidIsValid(setting->role) || setting != setting_of(settings, setting->role) ||
			preloads(setting->value) || !can_login(setting->role))
			continue;
		role = GetUserNameFromId(setting->role, false);
		appendStringInfo(&detail, " Role \"%s\" has a setting of its own.", role);
		append_statement(&hint, psprintf(setting->of_database ? "ROLE %s IN DATABASE %s" : "ROLE %s",
										 quote_identifier(role), database),
						 setting->value, true);
	}
	if (hint.len == 0)
		PG_RETURN_VOID();

	ereport(force ? NOTICE : ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 force ? errmsg("library \"%s\" is not preloaded by all sessions of database \"%s\"", LIBRARY, get_database_name(MyDatabaseId)) :
			 errmsg("cannot split %s while library \"%s\" is not preloaded by all sessions of database \"%s\"", table, LIBRARY, get_database_name(MyDatabaseId)),
			 errdetail("Until a session has loaded the library, INSERT ... ON CONFLICT, COPY ... TO and TRUNCATE of a split table fail, and VACUUM and ANALYZE skip the table.%s", detail.data),
			 errhint("A superuser can preload the library in sessions that begin afterwards:\n%s%s", hint.data,
					 force ? "" : "\nOr split with force => true.")));
	PG_RETURN_VOID();
}

#include "postgres.h"
#include "toast_policy.h"
bool
tp_is_compressed_type(Oid typid)
{
	return false;
}

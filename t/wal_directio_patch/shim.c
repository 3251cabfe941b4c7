/*-------------------------------------------------------------------------
 *
 * shim.c
 *	  LD_PRELOAD library for a server, to test how the server writes WAL.
 *
 * The library intercepts calls of the server to the C library.  The library
 * makes calls on WAL files fail with errors that are hard to get from a real
 * file system, and logs these calls.  The library also detects whether the
 * memory that a direct write reads changes during the write.
 * PgDense::WalShim builds it.
 *
 * A WAL file is a file in any folder that has the name of a segment (24
 * hexadecimal digits) or of a temporary file from which a segment is made
 * (xlogtemp.PID).  The server's probe for direct I/O has such a name, too.  A
 * direct file is a WAL file opened with O_DIRECT.  The library does not touch
 * other files.
 *
 * Variables in the environment of the server control the library:
 *
 *	WAL_SHIM_STATX=none			statx() of a WAL file, or of the directory pg_wal, reports
 *								no alignment for direct I/O, like a kernel before 6.1 or NFS
 *	WAL_SHIM_STATX=MEM/OFFSET	it reports this alignment; 0/0 is "no direct I/O here"
 *	WAL_SHIM_OPEN=FAULT			open() with O_DIRECT fails; with O_CREAT, it creates the file
 *								first
 *	WAL_SHIM_WRITE=FAULT		pwrite() and pwritev() of a direct file fail, or write only
 *								a part of the data
 *	WAL_SHIM_LOG=FILE			append a line to FILE for each open, write, sync, rename,
 *								unlink and POSIX_FADV_DONTNEED of a WAL file
 *	WAL_SHIM_WATCH=FILE			append a line to FILE when the memory of a direct write of a
 *								segment changes during the write
 *	WAL_SHIM_DELAY=MICROSECONDS	make each direct write of a segment take so much longer
 *
 * FAULT is an action and conditions, separated by commas.  The action is done if all
 * conditions are met.  Actions:
 *
 *	EINVAL, EOPNOTSUPP, EINTR, EIO, ENOSPC	fail with that error
 *	short=BYTES		(write) really write the data, but only the first BYTES bytes
 *
 * Conditions:
 *
 *	file=segment, file=temp		only such files
 *	from=N			from the N-th call on; count the calls that meet the other conditions,
 *					from 1, in all processes of the server together, since its start
 *	times=N			at most N times, counted in the same way
 *	below=BYTES		(write) writes of less than BYTES bytes
 *	unaligned=BYTES	(write) file position, length or a memory address is no multiple of BYTES
 *	any				also calls on WAL files that were not opened with O_DIRECT
 *	when=FILE		while FILE exists
 *
 * Examples: WAL_SHIM_WRITE=EINVAL,file=segment,unaligned=4096 is a device with sectors
 * of 4096 bytes.  WAL_SHIM_OPEN=EINVAL,when=/tmp/now begins when a test creates the file.
 *
 * A line of the log has, separated by tabs: process id, call (open, write,
 * sync, rename, unlink, drop), name of the file in its folder, position,
 * length, "direct" or "buffered", result (of a write: bytes written, else 0;
 * or the negative errno), and the number of zero bytes at the end of the data
 * to be written.  The library writes the line after the call, so the lines of
 * two processes may be in another order than their calls.  The library logs a
 * rename with the new name.  The library logs a fault that it makes like a
 * real fault.
 *
 * Not covered, since the server does not use it for WAL: O_DIRECT set by fcntl(),
 * io_uring, dup() of a descriptor of a WAL file, threads.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  t/wal_directio_patch/shim.c
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_FD	65536
#define NAME_SIZE 64

typedef enum
{
	FILE_OTHER,
	FILE_SEGMENT,
	FILE_TEMP
} ShimFileKind;

/* Information about an open WAL file */
typedef struct
{
	ShimFileKind kind;
	bool		direct;
	char		name[NAME_SIZE];
} ShimDescriptor;

typedef struct
{
	bool		active;
	int			error;			/* errno, or 0 for a short write */
	size_t		length;			/* of a short write */
	ShimFileKind kind;			/* FILE_OTHER: any */
	uint64_t	from;
	uint64_t	times;
	size_t		below;
	size_t		unaligned;
	bool		buffered_too;
	char		when[1024];
} ShimFault;

/* Counters that all processes of a server have in common. */
typedef struct
{
	uint64_t	open_calls;
	uint64_t	write_calls;
} ShimShared;

static ShimDescriptor *descriptors;
static ShimShared *shared;
static ShimFault open_fault;
static ShimFault write_fault;
static const char *log_path;
static const char *watch_path;
static useconds_t delay;
static bool set_statx;
static uint32_t statx_mem;
static uint32_t statx_offset;
static bool statx_known;

static int	(*real_open) (const char *, int,...);
static int	(*real_openat) (int, const char *, int,...);
static int	(*real_close) (int);
static ssize_t (*real_write) (int, const void *, size_t);
static ssize_t (*real_pwrite) (int, const void *, size_t, off_t);
static ssize_t (*real_pwritev) (int, const struct iovec *, int, off_t);
static int	(*real_fsync) (int);
static int	(*real_fdatasync) (int);
static int	(*real_rename) (const char *, const char *);
static int	(*real_unlink) (const char *);
static int	(*real_posix_fadvise) (int, off_t, off_t, int);
static int	(*real_statx) (int, const char *, int, unsigned int, struct statx *);

/*
 * Stop the server because of an invalid setting.  With a misspelt fault, a
 * test would pass without testing anything.
 */
static void
bad_setting(const char *name, const char *value)
{
	fprintf(stderr, "wal_directio_patch_shim: invalid value of %s: \"%s\"\n", name, value);
	_exit(99);
}

static uint64_t
number(const char *name, const char *value, const char *digits)
{
	char	   *end;
	uint64_t	result = strtoull(digits, &end, 10);

	if (*digits < '0' || *digits > '9' || *end != '\0')
		bad_setting(name, value);
	return result;
}

static void
parse_fault(const char *name, ShimFault *fault)
{
	static const struct
	{
		const char *name;
		int			error;
	}			errors[] = {
		{"EINVAL", EINVAL}, {"EOPNOTSUPP", EOPNOTSUPP}, {"EINTR", EINTR}, {"EIO", EIO}, {"ENOSPC", ENOSPC}
	};
	const char *value = getenv(name);
	char	   *copy;
	char	   *word;
	char	   *rest;

	if (value == NULL || *value == '\0')
		return;
	fault->from = 1;
	fault->times = UINT64_MAX;
	copy = strdup(value);
	for (word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest))
	{
		if (!fault->active)
		{
			fault->active = true;
			if (strncmp(word, "short=", 6) == 0)
				fault->length = number(name, value, word + 6);
			else
			{
				for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
					if (strcmp(word, errors[i].name) == 0)
						fault->error = errors[i].error;
				if (fault->error == 0)
					bad_setting(name, value);
			}
		}
		else if (strcmp(word, "file=segment") == 0)
			fault->kind = FILE_SEGMENT;
		else if (strcmp(word, "file=temp") == 0)
			fault->kind = FILE_TEMP;
		else if (strncmp(word, "from=", 5) == 0)
			fault->from = number(name, value, word + 5);
		else if (strncmp(word, "times=", 6) == 0)
			fault->times = number(name, value, word + 6);
		else if (strncmp(word, "below=", 6) == 0)
			fault->below = number(name, value, word + 6);
		else if (strncmp(word, "unaligned=", 10) == 0)
			fault->unaligned = number(name, value, word + 10);
		else if (strcmp(word, "any") == 0)
			fault->buffered_too = true;
		else if (strncmp(word, "when=", 5) == 0)
			snprintf(fault->when, sizeof(fault->when), "%s", word + 5);
		else
			bad_setting(name, value);
	}
	free(copy);
}

static void *
lookup(const char *name)
{
	void	   *result = dlsym(RTLD_NEXT, name);

	if (result == NULL)
	{
		fprintf(stderr, "wal_directio_patch_shim: the C library has no %s()\n", name);
		_exit(99);
	}
	return result;
}

static void
initialize(void)
{
	const char *value;

	if (descriptors != NULL)
		return;

	real_open = lookup("open");
	real_openat = lookup("openat");
	real_close = lookup("close");
	real_write = lookup("write");
	real_pwrite = lookup("pwrite");
	real_pwritev = lookup("pwritev");
	real_fsync = lookup("fsync");
	real_fdatasync = lookup("fdatasync");
	real_rename = lookup("rename");
	real_unlink = lookup("unlink");
	real_posix_fadvise = lookup("posix_fadvise");
	real_statx = lookup("statx");

	/*
	 * Forked processes share this memory; a program started by exec() does
	 * not.
	 */
	shared = mmap(NULL, sizeof(ShimShared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	descriptors = calloc(MAX_FD, sizeof(ShimDescriptor));
	if (shared == MAP_FAILED || descriptors == NULL)
	{
		fprintf(stderr, "wal_directio_patch_shim: out of memory\n");
		_exit(99);
	}

	parse_fault("WAL_SHIM_OPEN", &open_fault);
	parse_fault("WAL_SHIM_WRITE", &write_fault);

	/*
	 * Copy the value, because the server overwrites the memory of the
	 * environment with its process title.
	 */
	value = getenv("WAL_SHIM_LOG");
	log_path = value ? strdup(value) : NULL;
	value = getenv("WAL_SHIM_WATCH");
	watch_path = value ? strdup(value) : NULL;
	value = getenv("WAL_SHIM_DELAY");
	if (value != NULL)
		delay = number("WAL_SHIM_DELAY", value, value);
	value = getenv("WAL_SHIM_STATX");
	if (value != NULL)
	{
		set_statx = true;
		if (strcmp(value, "none") != 0)
		{
			statx_known = true;
			if (sscanf(value, "%u/%u", &statx_mem, &statx_offset) != 2)
				bad_setting("WAL_SHIM_STATX", value);
		}
	}
}

__attribute__((constructor)) static void
at_load(void)
{
	initialize();
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static ShimFileKind
kind_of(const char *path)
{
	const char *name = base_name(path);

	if (strncmp(name, "xlogtemp.", 9) == 0)
		return FILE_TEMP;
	if (strlen(name) == 24 && strspn(name, "0123456789ABCDEF") == 24)
		return FILE_SEGMENT;
	return FILE_OTHER;
}

static ShimDescriptor *
descriptor(int fd)
{
	initialize();
	if (fd < 0 || fd >= MAX_FD || descriptors[fd].kind == FILE_OTHER)
		return NULL;
	return &descriptors[fd];
}

/* Append a line to a file, in one piece. */
static void
append(const char *path, const char *line, int length)
{
	int			fd = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	if (fd < 0 || real_write(fd, line, length) != length)
	{
		fprintf(stderr, "wal_directio_patch_shim: could not write to \"%s\": %s\n", path, strerror(errno));
		_exit(99);
	}
	real_close(fd);
}

static void
log_call(const char *call, const char *name, off_t offset, size_t length, bool direct, ssize_t result, size_t zeros)
{
	int			save_errno = errno;
	char		line[256];

	if (log_path == NULL)
		return;
	append(log_path, line,
		   snprintf(line, sizeof(line), "%d\t%s\t%s\t%lld\t%zu\t%s\t%lld\t%zu\n", (int) getpid(), call, name,
					(long long) offset, length, direct ? "direct" : "buffered",
					(long long) (result < 0 ? -save_errno : result), zeros));
	errno = save_errno;
}

/*
 * Return true if this call must fail.  For the conditions "from" and "times",
 * count only calls that meet all other conditions.
 */
static bool
hit(const ShimFault *fault, uint64_t *calls, ShimFileKind kind, bool direct)
{
	uint64_t	n;

	if (!fault->active)
		return false;
	if (!direct && !fault->buffered_too)
		return false;
	if (fault->kind != FILE_OTHER && fault->kind != kind)
		return false;
	if (fault->when[0] != '\0')
	{
		int			save_errno = errno;
		bool		there = access(fault->when, F_OK) == 0;

		errno = save_errno;
		if (!there)
			return false;
	}
	n = __atomic_add_fetch(calls, 1, __ATOMIC_SEQ_CST);
	return n >= fault->from && n - fault->from < fault->times;
}

static bool
is_unaligned(const struct iovec *iov, int iovcnt, off_t offset, size_t unit)
{
	if (offset % (off_t) unit != 0)
		return true;
	for (int i = 0; i < iovcnt; i++)
		if ((uintptr_t) iov[i].iov_base % unit != 0 || iov[i].iov_len % unit != 0)
			return true;
	return false;
}

static size_t
count_zeros(const struct iovec *iov, int iovcnt)
{
	size_t		zeros = 0;

	for (int i = iovcnt - 1; i >= 0; i--)
	{
		const char *base = iov[i].iov_base;

		for (size_t j = iov[i].iov_len; j > 0; j--)
		{
			if (base[j - 1] != 0)
				return zeros;
			zeros++;
		}
	}
	return zeros;
}

/* Copy the memory into a buffer that the next call overwrites. */
static char *
copy_memory(const struct iovec *iov, int iovcnt, size_t length)
{
	static char *buffer = NULL;
	static size_t size = 0;
	size_t		done = 0;

	if (length > size)
	{
		free(buffer);
		size = length;
		buffer = malloc(size);
		if (buffer == NULL)
			_exit(99);
	}
	for (int i = 0; i < iovcnt; i++)
	{
		memcpy(buffer + done, iov[i].iov_base, iov[i].iov_len);
		done += iov[i].iov_len;
	}
	return buffer;
}

/* If the memory differs from its copy, log the first difference. */
static void
compare_memory(const char *copy, const struct iovec *iov, int iovcnt, const char *name, off_t offset, size_t length)
{
	int			save_errno = errno;
	size_t		done = 0;

	for (int i = 0; i < iovcnt; i++)
	{
		const char *base = iov[i].iov_base;

		if (memcmp(copy + done, base, iov[i].iov_len) != 0)
		{
			char		line[256];
			size_t		j = 0;

			while (copy[done + j] == base[j])
				j++;
			append(watch_path, line,
				   snprintf(line, sizeof(line), "%d\t%s\t%lld\t%zu\tmemory changed at byte %zu of the write\n",
							(int) getpid(), name, (long long) offset, length, done + j));
			break;
		}
		done += iov[i].iov_len;
	}
	errno = save_errno;
}

/*
 * Write only the first bytes of the data.  The kernel refuses a direct write
 * whose length is no multiple of the sector size.  So write through the page
 * cache, sync, and drop the bytes from the page cache.
 */
static ssize_t
write_short(int fd, const struct iovec *iov, int iovcnt, off_t offset, size_t length)
{
	char		path[64];
	ssize_t		result;
	int			other;
	size_t		total = 0;

	for (int i = 0; i < iovcnt; i++)
		total += iov[i].iov_len;
	if (length > total)
		length = total;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	other = real_open(path, O_WRONLY | O_CLOEXEC);
	if (other < 0)
		return -1;
	result = real_pwrite(other, copy_memory(iov, iovcnt, total), length, offset);
	if (result >= 0)
	{
		real_fdatasync(other);
		real_posix_fadvise(other, 0, 0, POSIX_FADV_DONTNEED);
	}
	real_close(other);
	return result;
}

/* Do the work of pwrite() and pwritev(). */
static ssize_t
write_vector(int fd, const struct iovec *iov, int iovcnt, off_t offset)
{
	ShimDescriptor *d = descriptor(fd);
	size_t		length = 0;
	size_t		zeros = 0;
	char	   *copy = NULL;
	bool		slow;
	ssize_t		result;

	if (d == NULL)
		return real_pwritev(fd, iov, iovcnt, offset);

	for (int i = 0; i < iovcnt; i++)
		length += iov[i].iov_len;
	if (log_path)
		zeros = count_zeros(iov, iovcnt);

	/*
	 * Do not shorten a direct write at an unaligned position, which the server
	 * tries after a short write: the kernel itself refuses this write.
	 */
	if ((write_fault.error != 0 || !d->direct || offset % 512 == 0) &&
		(write_fault.below == 0 || length < write_fault.below) &&
		(write_fault.unaligned == 0 || is_unaligned(iov, iovcnt, offset, write_fault.unaligned)) &&
		hit(&write_fault, &shared->write_calls, d->kind, d->direct))
	{
		if (write_fault.error != 0)
		{
			errno = write_fault.error;
			result = -1;
		}
		else
			result = write_short(fd, iov, iovcnt, offset, write_fault.length);
		log_call("write", d->name, offset, length, d->direct, result, zeros);
		return result;
	}

	slow = d->direct && d->kind == FILE_SEGMENT;
	if (slow && watch_path)
		copy = copy_memory(iov, iovcnt, length);
	if (slow && delay > 0)
		usleep(delay / 2);
	result = real_pwritev(fd, iov, iovcnt, offset);
	if (slow && delay > 0)
	{
		int			save_errno = errno;

		usleep(delay / 2);
		errno = save_errno;
	}
	if (copy)
		compare_memory(copy, iov, iovcnt, d->name, offset, length);
	log_call("write", d->name, offset, length, d->direct, result, zeros);
	return result;
}

static int
open_file(int dir, const char *path, int flags, mode_t mode)
{
	ShimFileKind kind = kind_of(path);
	bool		direct = (flags & O_DIRECT) != 0;
	int			fd;

	initialize();
	if (kind != FILE_OTHER && hit(&open_fault, &shared->open_calls, kind, direct))
	{
		/* Like older kernels, create the file before refusing O_DIRECT. */
		if (flags & O_CREAT)
		{
			fd = real_openat(dir, path, flags & ~O_DIRECT, mode);
			if (fd >= 0)
				real_close(fd);
		}
		errno = open_fault.error ? open_fault.error : EINVAL;
		fd = -1;
	}
	else
		fd = real_openat(dir, path, flags, mode);
	if (fd >= 0 && fd < MAX_FD)
	{
		descriptors[fd].kind = kind;
		descriptors[fd].direct = direct;
		snprintf(descriptors[fd].name, NAME_SIZE, "%s", base_name(path));
	}
	if (kind != FILE_OTHER)
		log_call("open", base_name(path), 0, 0, direct, fd < 0 ? -1 : 0, 0);
	return fd;
}

int
open(const char *path, int flags,...)
{
	mode_t		mode = 0;

	if (flags & (O_CREAT | O_TMPFILE))
	{
		va_list		args;

		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return open_file(AT_FDCWD, path, flags, mode);
}

int
open64(const char *path, int flags,...)
{
	mode_t		mode = 0;

	if (flags & (O_CREAT | O_TMPFILE))
	{
		va_list		args;

		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return open_file(AT_FDCWD, path, flags, mode);
}

int
openat(int dir, const char *path, int flags,...)
{
	mode_t		mode = 0;

	if (flags & (O_CREAT | O_TMPFILE))
	{
		va_list		args;

		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return open_file(dir, path, flags, mode);
}

int
close(int fd)
{
	initialize();
	if (fd >= 0 && fd < MAX_FD)
		descriptors[fd].kind = FILE_OTHER;
	return real_close(fd);
}

ssize_t
pwrite(int fd, const void *buf, size_t count, off_t offset)
{
	struct iovec iov;

	if (descriptor(fd) == NULL)
		return real_pwrite(fd, buf, count, offset);
	iov.iov_base = (void *) buf;
	iov.iov_len = count;
	return write_vector(fd, &iov, 1, offset);
}

ssize_t
pwrite64(int fd, const void *buf, size_t count, off_t offset)
{
	return pwrite(fd, buf, count, offset);
}

ssize_t
pwritev(int fd, const struct iovec *iov, int iovcnt, off_t offset)
{
	return write_vector(fd, iov, iovcnt, offset);
}

ssize_t
pwritev64(int fd, const struct iovec *iov, int iovcnt, off_t offset)
{
	return write_vector(fd, iov, iovcnt, offset);
}

int
fsync(int fd)
{
	ShimDescriptor *d = descriptor(fd);
	int			result = real_fsync(fd);

	if (d)
		log_call("sync", d->name, 0, 0, d->direct, result, 0);
	return result;
}

int
fdatasync(int fd)
{
	ShimDescriptor *d = descriptor(fd);
	int			result = real_fdatasync(fd);

	if (d)
		log_call("sync", d->name, 0, 0, d->direct, result, 0);
	return result;
}

int
posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
	ShimDescriptor *d = descriptor(fd);
	int			result;

	initialize();
	result = real_posix_fadvise(fd, offset, length, advice);
	if (d && advice == POSIX_FADV_DONTNEED)
		log_call("drop", d->name, offset, length, d->direct, result, 0);
	return result;
}

int
posix_fadvise64(int fd, off_t offset, off_t length, int advice)
{
	return posix_fadvise(fd, offset, length, advice);
}

int
rename(const char *from, const char *to)
{
	int			result;

	initialize();
	result = real_rename(from, to);
	if (kind_of(to) != FILE_OTHER)
		log_call("rename", base_name(to), 0, 0, false, result, 0);
	return result;
}

int
unlink(const char *path)
{
	int			result;

	initialize();
	result = real_unlink(path);
	if (kind_of(path) != FILE_OTHER)
		log_call("unlink", base_name(path), 0, 0, false, result, 0);
	return result;
}

/*
 * The server may pass an empty path and, as the argument dir, the descriptor
 * of an open file.  Then the call is about this file.
 */
int
statx(int dir, const char *path, int flags, unsigned int mask, struct statx *buf)
{
	int			result;
	bool		wal;

	initialize();
	result = real_statx(dir, path, flags, mask, buf);
	if (*path == '\0')
		wal = descriptor(dir) != NULL;
	else
		wal = kind_of(path) != FILE_OTHER || strcmp(base_name(path), "pg_wal") == 0;
#ifdef STATX_DIOALIGN
	if (result == 0 && set_statx && wal)
	{
		buf->stx_mask &= ~STATX_DIOALIGN;
		buf->stx_dio_mem_align = buf->stx_dio_offset_align = 0;
		if (statx_known && (mask & STATX_DIOALIGN))
		{
			buf->stx_mask |= STATX_DIOALIGN;
			buf->stx_dio_mem_align = statx_mem;
			buf->stx_dio_offset_align = statx_offset;
		}
	}
#endif
	return result;
}

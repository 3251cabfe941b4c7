/*
 * record.c
 *		Record each write of a server to its WAL, with the data.
 *
 * This is a library for LD_PRELOAD.  From the recorded events, a test builds
 * files that may be on disk after a failure of the machine at any moment.
 * These files have all data that were synced, and any of the sectors that were
 * written after the last sync.  The events also show whether the memory that a
 * write reads changes during the write.
 *
 *	PGDENSE_WAL_RECORD		file to which events are appended; without this
 *							variable, the library records nothing
 *	PGDENSE_WAL_DELAY		microseconds between the copy of the data and the write,
 *							so that other code has time to change the memory
 *	PGDENSE_WAL_REFUSE		file; while it exists, the next direct write to a segment
 *							fails with EINVAL, is not recorded, and removes the file
 *	PGDENSE_WAL_SECTOR		size in bytes that the kernel reports for the physical
 *							sectors of all devices; "none" if it reports no size
 *	PGDENSE_WAL_CLOCK		if it is set, pgbench logs the times of the clock that
 *							events have
 *
 * The library records only events of files whose names are those of segments
 * or xlogtemp.*.  The library records a write or a rename before it makes the
 * call, and any other event afterwards.  After a write with O_DSYNC, it also
 * records a sync.  The library never really syncs a file: the server has
 * fsync = on, but is as fast as with fsync = off.
 *
 * An event has a header, and may have data.  All fields are in the byte order
 * of the machine.  PgDense::WalRecorder reads the events.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FLAG_DIRECT		1		/* opened with O_DIRECT */
#define FLAG_SYNC		2		/* opened with O_DSYNC or O_SYNC */
#define FLAG_ZERO		4		/* all bytes are zero, no data follows */

typedef struct Event
{
	int64_t		time;			/* of the monotonic clock, in microseconds */
	uint64_t	offset;
	uint64_t	length;			/* of the write */
	uint32_t	ndata;			/* bytes that follow */
	uint32_t	flags;
	uint32_t	pid;
	uint32_t	type;			/* W, C (memory changed), S(ync), R(ename), U(nlink) */
	char		name[40];		/* without directory */
} Event;

static int	record_fd = -1;
static int	delay;
static const char *refuse;

static ssize_t (*real_pwrite) (int, const void *, size_t, off_t);
static ssize_t (*real_pwritev) (int, const struct iovec *, int, off_t);
static int	(*real_rename) (const char *, const char *);
static int	(*real_unlink) (const char *);
static int	(*real_fsync) (int);
static int	(*real_fdatasync) (int);

/* Report the size of physical sectors that the test has set. */
FILE *
fopen(const char *path, const char *mode)
{
	static FILE *(*real) (const char *, const char *);
	static const char end[] = "/queue/physical_block_size";
	static char text[32];
	const char *sector = getenv("PGDENSE_WAL_SECTOR");
	size_t		length = strlen(path);

	if (sector && strncmp(path, "/sys/dev/block/", 15) == 0 &&
		length > sizeof(end) && strcmp(path + length - (sizeof(end) - 1), end) == 0)
	{
		if (strcmp(sector, "none") == 0)
		{
			errno = ENOENT;
			return NULL;
		}
		snprintf(text, sizeof(text), "%s\n", sector);
		return fmemopen(text, strlen(text), "r");
	}
	if (!real)
		real = dlsym(RTLD_NEXT, "fopen");
	return real(path, mode);
}

/*
 * To each time of its log, pgbench adds the difference between the time of day
 * and the monotonic clock.  It reads these clocks once, one after the other.
 * If it has to wait for a processor between the two, all times of its log are
 * too early, and a client seems to be told of a commit before it is durable.
 * So let both calls return the same time of the monotonic clock.
 */
static struct timespec same_time;
static int	same_time_left;

int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	static int	(*real) (struct timeval *, void *);

	if (getenv("PGDENSE_WAL_CLOCK"))
	{
		clock_gettime(CLOCK_MONOTONIC, &same_time);
		same_time_left = 1;
		tv->tv_sec = same_time.tv_sec;
		tv->tv_usec = same_time.tv_nsec / 1000;
		return 0;
	}
	if (!real)
		real = dlsym(RTLD_NEXT, "gettimeofday");
	return real(tv, tz);
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	static int	(*real) (clockid_t, struct timespec *);

	if (clock == CLOCK_MONOTONIC && same_time_left)
	{
		same_time_left = 0;
		*now = same_time;
		return 0;
	}
	if (!real)
		real = dlsym(RTLD_NEXT, "clock_gettime");
	return real(clock, now);
}

static void __attribute__((constructor))
begin(void)
{
	const char *path = getenv("PGDENSE_WAL_RECORD");

	real_pwrite = dlsym(RTLD_NEXT, "pwrite");
	real_pwritev = dlsym(RTLD_NEXT, "pwritev");
	real_rename = dlsym(RTLD_NEXT, "rename");
	real_unlink = dlsym(RTLD_NEXT, "unlink");
	real_fsync = dlsym(RTLD_NEXT, "fsync");
	real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
	if (path == NULL)
		return;
	record_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (record_fd < 0)
	{
		perror(path);
		abort();
	}
	/* copy the value, because the server moves its environment */
	if (getenv("PGDENSE_WAL_REFUSE"))
		refuse = strdup(getenv("PGDENSE_WAL_REFUSE"));
	delay = getenv("PGDENSE_WAL_DELAY") ? atoi(getenv("PGDENSE_WAL_DELAY")) : 0;
}

/* return the name of a WAL file, or NULL */
static const char *
wal_name(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	if (strncmp(name, "xlogtemp.", 9) == 0 ||
		(strlen(name) == 24 && strspn(name, "0123456789ABCDEF") == 24))
		return name;
	return NULL;
}

static const char *
wal_name_of_fd(int fd, char *buffer, size_t size)
{
	char		link[64];
	ssize_t		n;

	if (record_fd < 0)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, buffer, size - 1);
	if (n <= 0)
		return NULL;
	buffer[n] = '\0';
	return wal_name(buffer);
}

/*
 * Record an event with one call of writev() and O_APPEND, so that events of
 * several processes do not mix.
 */
static void
record(int type, const char *name, uint64_t offset, uint64_t length, int flags, const void *data, size_t ndata)
{
	Event		event = {0};
	struct timespec now;
	struct iovec iov[2];

	clock_gettime(CLOCK_MONOTONIC, &now);
	event.time = now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
	event.offset = offset;
	event.length = length;
	event.ndata = ndata;
	event.flags = flags;
	event.pid = getpid();
	event.type = type;
	snprintf(event.name, sizeof(event.name), "%s", name);
	iov[0].iov_base = &event;
	iov[0].iov_len = sizeof(event);
	iov[1].iov_base = (void *) data;
	iov[1].iov_len = ndata;
	if (writev(record_fd, iov, ndata > 0 ? 2 : 1) != (ssize_t) (sizeof(event) + ndata))
	{
		perror("could not record an event of WAL");
		abort();
	}
}

static ssize_t
recorded_pwritev(int fd, const struct iovec *iov, int iovcnt, off_t offset)
{
	char		path[4096];
	const char *name = wal_name_of_fd(fd, path, sizeof(path));
	size_t		length = 0,
				done = 0;
	ssize_t		written;
	char	   *copy;
	int			status,
				flags = 0,
				save_errno;

	if (name == NULL)
		return real_pwritev(fd, iov, iovcnt, offset);

	status = fcntl(fd, F_GETFL);
	if (refuse && (status & O_DIRECT) && name[0] != 'x' && real_unlink(refuse) == 0)
	{
		errno = EINVAL;
		return -1;
	}

	for (int i = 0; i < iovcnt; i++)
		length += iov[i].iov_len;
	if (length == 0 || (copy = malloc(length)) == NULL)
		abort();
	for (int i = 0; i < iovcnt; done += iov[i++].iov_len)
		memcpy(copy + done, iov[i].iov_base, iov[i].iov_len);
	if (status & O_DIRECT)
		flags |= FLAG_DIRECT;
	if (status & O_DSYNC)
		flags |= FLAG_SYNC;
	if (copy[0] == 0 && memcmp(copy, copy + 1, length - 1) == 0)
		flags |= FLAG_ZERO;
	record('W', name, offset, length, flags, copy, flags & FLAG_ZERO ? 0 : length);

	if (delay > 0)
		usleep(delay);
	written = real_pwritev(fd, iov, iovcnt, offset);
	save_errno = errno;
	if ((flags & FLAG_SYNC) && written == (ssize_t) length)
		record('S', name, 0, 0, 0, NULL, 0);

	done = 0;
	for (int i = 0; i < iovcnt; done += iov[i++].iov_len)
	{
		const char *memory = iov[i].iov_base;

		for (size_t at = 0; at < iov[i].iov_len; at++)
		{
			if (memory[at] != copy[done + at])
			{
				record('C', name, offset + done + at, 1, flags, NULL, 0);
				i = iovcnt - 1;
				break;
			}
		}
	}
	free(copy);
	errno = save_errno;
	return written;
}

ssize_t
pwrite(int fd, const void *buf, size_t count, off_t offset)
{
	struct iovec iov = {(void *) buf, count};

	if (record_fd < 0 || count == 0)
		return real_pwrite(fd, buf, count, offset);
	return recorded_pwritev(fd, &iov, 1, offset);
}

ssize_t
pwrite64(int fd, const void *buf, size_t count, off_t offset)
{
	return pwrite(fd, buf, count, offset);
}

ssize_t
pwritev(int fd, const struct iovec *iov, int iovcnt, off_t offset)
{
	return recorded_pwritev(fd, iov, iovcnt, offset);
}

ssize_t
pwritev64(int fd, const struct iovec *iov, int iovcnt, off_t offset)
{
	return recorded_pwritev(fd, iov, iovcnt, offset);
}

/*
 * Record the rename before it is done, so that no event of a process that uses
 * the new name comes first.
 */
int
rename(const char *from, const char *to)
{
	const char *name = record_fd < 0 ? NULL : wal_name(from);
	const char *new_name = wal_name(to);

	if (name && new_name)
		record('R', name, 0, 0, 0, new_name, strlen(new_name));
	else if (name)
		record('U', name, 0, 0, 0, NULL, 0);
	return real_rename(from, to);
}

int
unlink(const char *path)
{
	int			rc = real_unlink(path);
	int			save_errno = errno;
	const char *name = record_fd < 0 ? NULL : wal_name(path);

	if (rc == 0 && name)
		record('U', name, 0, 0, 0, NULL, 0);
	errno = save_errno;
	return rc;
}

static int
recorded_sync(int fd)
{
	char		path[4096];
	const char *name = wal_name_of_fd(fd, path, sizeof(path));

	if (name)
		record('S', name, 0, 0, 0, NULL, 0);
	return 0;
}

int
fsync(int fd)
{
	return record_fd < 0 ? real_fsync(fd) : recorded_sync(fd);
}

int
fdatasync(int fd)
{
	return record_fd < 0 ? real_fdatasync(fd) : recorded_sync(fd);
}

int
sync_file_range(int fd, off_t offset, off_t nbytes, unsigned int flags)
{
	static int	(*real) (int, off_t, off_t, unsigned int);

	if (record_fd >= 0)
		return 0;
	if (real == NULL)
		real = dlsym(RTLD_NEXT, "sync_file_range");
	return real(fd, offset, nbytes, flags);
}

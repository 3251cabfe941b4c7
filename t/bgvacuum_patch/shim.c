/*-------------------------------------------------------------------------
 *
 * shim.c
 *	  Library to be preloaded into a server.  The library makes writes of
 *	  certain server processes to certain files fail for a while.
 *
 * The environment variable BGVACUUM_SHIM names a file.  While this file
 * exists, it says which calls of pwrite() and pwritev() fail.  The file has
 * one line of three words separated by tabs:
 *
 *	ERROR	PATH	TITLE
 *
 * ERROR is the errno of the failure.  PATH is a part of the path of the files,
 * or "-" for any file.  TITLE is a part of the title of the processes, or "-"
 * for any process.  Each failure adds one byte to the file FILE.hits, where
 * FILE is the value of BGVACUUM_SHIM.
 *
 * Copyright (c) 2026, pg_dense contributors
 *
 * IDENTIFICATION
 *	  t/bgvacuum_patch/shim.c
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static ssize_t (*real_pwrite) (int, const void *, size_t, off_t);
static ssize_t (*real_pwritev) (int, const struct iovec *, int, off_t);

static void
initialize(void)
{
	if (real_pwritev)
		return;
	*(void **) &real_pwrite = dlsym(RTLD_NEXT, "pwrite");
	*(void **) &real_pwritev = dlsym(RTLD_NEXT, "pwritev");
	if (!real_pwrite || !real_pwritev)
	{
		fprintf(stderr, "bgvacuum_patch_shim: the C library has no pwrite() or pwritev()\n");
		_exit(99);
	}
}

/*
 * Read the first bytes of a file, and replace zero bytes by spaces.  Return
 * false if the file cannot be read or is empty.
 */
static bool
contents(const char *path, char *buf, size_t size)
{
	int			fd = open(path, O_RDONLY);
	ssize_t		n;

	if (fd < 0)
		return false;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	for (ssize_t i = 0; i < n; i++)
		if (buf[i] == '\0')
			buf[i] = ' ';
	buf[n] = '\0';
	return true;
}

/* Return true, and set errno, if a write to fd must fail. */
static bool
fails(int fd)
{
	const char *control = getenv("BGVACUUM_SHIM");
	int			save_errno = errno;
	char		line[1024];
	char		title[1024];
	char		link[64];
	char		path[1024];
	char		hits[1024];
	char	   *words[3];
	char	   *rest = line;
	ssize_t		n;

	if (!control || !contents(control, line, sizeof(line)))
	{
		errno = save_errno;
		return false;
	}
	for (int i = 0; i < 3; i++)
	{
		words[i] = strsep(&rest, "\t\n");
		if (!words[i])
		{
			fprintf(stderr, "bgvacuum_patch_shim: not three words in \"%s\"\n", control);
			_exit(99);
		}
	}

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	if ((strcmp(words[1], "-") != 0 && !strstr(path, words[1])) ||
		(strcmp(words[2], "-") != 0 &&
		 !(contents("/proc/self/cmdline", title, sizeof(title)) && strstr(title, words[2]))))
	{
		errno = save_errno;
		return false;
	}

	snprintf(hits, sizeof(hits), "%s.hits", control);
	fd = open(hits, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd >= 0)
	{
		if (write(fd, "x", 1) != 1)
			_exit(99);
		close(fd);
	}
	errno = atoi(words[0]);
	return true;
}

ssize_t
pwrite(int fd, const void *buf, size_t count, off_t offset)
{
	initialize();
	return fails(fd) ? -1 : real_pwrite(fd, buf, count, offset);
}

ssize_t
pwrite64(int fd, const void *buf, size_t count, off_t offset)
{
	return pwrite(fd, buf, count, offset);
}

ssize_t
pwritev(int fd, const struct iovec *iov, int iovcnt, off_t offset)
{
	initialize();
	return fails(fd) ? -1 : real_pwritev(fd, iov, iovcnt, offset);
}

ssize_t
pwritev64(int fd, const struct iovec *iov, int iovcnt, off_t offset)
{
	return pwritev(fd, iov, iovcnt, offset);
}

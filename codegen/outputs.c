/* Files: all or none.
 *
 * Every file is written beside its place under a temporary name first; only
 * when all are there, and standard output has taken its part, each is exchanged
 * with what it replaces, so that a failure in the middle can be undone. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codegen/codegen.h"

typedef enum {
	PLACE_EQUAL,   /* nothing to do */
	PLACE_STREAM,  /* standard output, a device, a pipe: written through */
	PLACE_REPLACE, /* a file that there was */
	PLACE_NEW
} PlaceKind;

typedef struct {
	PlaceKind kind;
	char *path;	 /* with symbolic links followed */
	char *temporary; /* NULL: none */
	mode_t mode;
	bool moved;	/* the new contents are in place */
	bool exchanged; /* the old ones then have the temporary name */
} PlacedFile;

static Status fail(Error *error, const char *path, int code)
{
	bool closed = code == EPIPE && !strcmp(path, "-");
	return error_set(error, closed ? STATUS_CLOSED : STATUS_IO,
	    "cannot write %s: %s", path, strerror(code));
}

static Status write_all(int fd, const OutputFile *file, Error *error)
{
	const char *p = file->data;
	for (size_t left = file->size; left;) {
		ssize_t n = write(fd, p, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(error, file->path, errno);
		p += n;
		left -= (size_t)n;
	}
	return STATUS_OK;
}

static bool same_contents(const OutputFile *file, const char *path, size_t size)
{
	char part[8192];
	size_t at = 0;
	ssize_t n = 0;
	if (size != file->size)
		return false;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while ((n = read(fd, part, sizeof part)) > 0) {
		if ((size_t)n > file->size - at ||
		    memcmp(part, (const char *)file->data + at, (size_t)n))
			break;
		at += (size_t)n;
	}
	close(fd);
	return n == 0 && at == file->size;
}

static Status place_find(
    const OutputFile *file, PlacedFile *place, Error *error)
{
	struct stat st;
	*place = (PlacedFile){.kind = PLACE_STREAM};
	if (!strcmp(file->path, "-"))
		return STATUS_OK;
	place->path = realpath(file->path, NULL);
	if (!place->path) {
		size_t size = strlen(file->path) + 1;
		place->path = memcpy(must_alloc(size), file->path, size);
	}
	if (stat(place->path, &st)) {
		mode_t mask = umask(0);
		umask(mask);
		place->kind = PLACE_NEW;
		place->mode = 0666 & ~mask;
		return errno == ENOENT ? STATUS_OK
				       : fail(error, file->path, errno);
	}
	place->mode = st.st_mode & 07777;
	if (S_ISDIR(st.st_mode))
		return fail(error, file->path, EISDIR);
	if (S_ISREG(st.st_mode))
		place->kind =
		    same_contents(file, place->path, (size_t)st.st_size)
			? PLACE_EQUAL
			: PLACE_REPLACE;
	return STATUS_OK;
}

static Status write_temporary(
    const OutputFile *file, PlacedFile *place, Error *error)
{
	static const char name[] = ".tunec-XXXXXX";
	const char *slash = strrchr(place->path, '/');
	size_t folder = slash ? (size_t)(slash - place->path) + 1 : 0;
	char *path = must_alloc(folder + sizeof name);
	memcpy(path, place->path, folder);
	memcpy(path + folder, name, sizeof name);
	int fd = mkstemp(path);
	if (fd < 0) {
		free(path);
		return fail(error, file->path, errno);
	}
	place->temporary = path;
	Status status = write_all(fd, file, error);
	if (!status && fchmod(fd, place->mode))
		status = fail(error, file->path, errno);
	if (close(fd) && !status)
		status = fail(error, file->path, errno);
	return status;
}

static Status write_stream(
    const OutputFile *file, const PlacedFile *place, Error *error)
{
	int fd = place->path ? open(place->path, O_WRONLY | O_CLOEXEC) : 1;
	if (fd < 0)
		return fail(error, file->path, errno);
	Status status = write_all(fd, file, error);
	if (place->path && close(fd) && !status)
		status = fail(error, file->path, errno);
	return status;
}

static Status move_into_place(
    const OutputFile *file, PlacedFile *place, Error *error)
{
	if (place->kind == PLACE_REPLACE)
		place->exchanged = !renameat2(AT_FDCWD, place->temporary,
		    AT_FDCWD, place->path, RENAME_EXCHANGE);
	if (!place->exchanged && rename(place->temporary, place->path))
		return fail(error, file->path, errno);
	place->moved = true;
	return STATUS_OK;
}

static void undo(PlacedFile *place)
{
	if (!place->moved)
		return;
	if (place->exchanged)
		rename(place->temporary, place->path);
	else if (place->kind == PLACE_NEW)
		unlink(place->path);
	free(place->temporary);
	place->temporary = NULL;
}

static Status prepare(
    const OutputFile *files, int n, PlacedFile *places, Error *error)
{
	for (int i = 0; i < n; i++) {
		FORWARD_IF_ERROR(place_find(&files[i], &places[i], error));
		for (int j = 0; j < i && places[i].path; j++)
			if (places[j].path && places[i].kind != PLACE_STREAM &&
			    !strcmp(places[i].path, places[j].path))
				return error_set(error, STATUS_USAGE,
				    "%s is written twice", files[i].path);
	}
	for (int i = 0; i < n; i++)
		if (places[i].kind >= PLACE_REPLACE)
			FORWARD_IF_ERROR(
			    write_temporary(&files[i], &places[i], error));
	return STATUS_OK;
}

static Status commit(
    const OutputFile *files, int n, PlacedFile *places, Error *error)
{
	for (int i = 0; i < n; i++)
		if (places[i].kind == PLACE_STREAM)
			FORWARD_IF_ERROR(
			    write_stream(&files[i], &places[i], error));
	for (int i = 0; i < n; i++)
		if (places[i].kind >= PLACE_REPLACE)
			FORWARD_IF_ERROR(
			    move_into_place(&files[i], &places[i], error));
	return STATUS_OK;
}

Status outputs_write(const OutputFile *files, int n, Error *error)
{
	PlacedFile *places = must_alloc((size_t)n * sizeof *places);
	for (int i = 0; i < n; i++)
		places[i] = (PlacedFile){0};
	Status status = prepare(files, n, places, error);
	if (!status)
		status = commit(files, n, places, error);
	for (int i = n - 1; status && i >= 0; i--)
		undo(&places[i]);
	for (int i = 0; i < n; i++) {
		if (places[i].temporary &&
		    (places[i].exchanged || !places[i].moved))
			unlink(places[i].temporary);
		free(places[i].temporary);
		free(places[i].path);
	}
	free(places);
	return status;
}

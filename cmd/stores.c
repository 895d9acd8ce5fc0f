/* Opening --db. */
#include "cmd/stores.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int open_one(const char *path, StoreMode mode, Stores *out)
{
	Error error;
	Status status = store_open(path, mode, &out->at[out->n], &error);
	if (!status) {
		out->n++;
		return EXIT_DONE;
	}
	say_error("%s", error.text);
	stores_close(out);
	return exit_of_status(status);
}

const char *stores_preset(void)
{
	const char *named = getenv("TUNEC_DB");
	return named && *named ? named : "tunec.db";
}

int stores_open(const TextList *db, StoreMode first, Stores *out)
{
	int n = db->n ? db->n : 1;
	*out = (Stores){.at = must_alloc(sizeof *out->at * (size_t)n)};
	const char *preset = getenv("TUNEC_DB");
	bool named = db->n || (preset && *preset);
	out->nread = named ? n - (first != STORE_READ) : 0;
	if (!db->n)
		return open_one(stores_preset(), first, out);
	for (int i = 0; i < n; i++) {
		int code = open_one(db->at[i], i ? STORE_READ : first, out);
		if (code)
			return code;
	}
	return EXIT_DONE;
}

void stores_close(Stores *stores)
{
	for (int i = 0; i < stores->n; i++)
		store_close(stores->at[i]);
	free(stores->at);
	*stores = (Stores){0};
}

static bool is_there(const Store *store)
{
	return !access(store_path(store), F_OK) || errno != ENOENT;
}

bool stores_exist(const Stores *stores)
{
	for (int i = 0; i < stores->n; i++)
		if (is_there(stores->at[i]))
			return true;
	return false;
}

void stores_warn(const Stores *stores, const Common *common)
{
	for (int i = stores->n - stores->nread;
	     i >= 0 && i < stores->n && !common->quiet; i++)
		if (!is_there(stores->at[i]))
			say_warning("there is no file %s: a store without "
				    "records", store_path(stores->at[i]));
	for (int i = 0; i < stores->n && !common->quiet; i++) {
		const char *s = store_notes(stores->at[i]);
		for (size_t n; *s; s += n + (s[n] == '\n')) {
			n = strcspn(s, "\n");
			say_warning("%.*s", (int)n, s);
		}
	}
}

/* The program as the first steps of every trace leave it, which the rules then
 * see: changed as the primitives change the nest, without a nest. */
#include "schedule/rules/rules.h"

#include <string.h>

enum { ROOM = 256 }; /* for buffers that are added */

int rule_room(const Program *p)
{
	return p->nbuffers + ROOM;
}

Program *rule_copy_program(Arena *arena, const Program *from)
{
	Program *p = NEW(arena, Program);
	*p = *from;
	p->blocks = arena_memdup(
	    arena, from->blocks, sizeof *p->blocks * (size_t)p->nblocks);
	p->buffers = arena_memdup(
	    arena, from->buffers, sizeof *p->buffers * (size_t)p->nbuffers);
	return p;
}

Block rule_block_like(Arena *arena, const Block *b, const char *name)
{
	Block new = *b;
	new.name = name;
	new.axes = arena_memdup(
	    arena, b->axes, sizeof *b->axes * (size_t)b->naxes);
	return new;
}

int rule_add_buffer(Arena *arena, Program *p, const Block *b, DType type)
{
	Buffer *all = NEW_N(arena, Buffer, p->nbuffers + 1);
	memcpy(all, p->buffers, sizeof *all * (size_t)p->nbuffers);
	Buffer *to = &all[p->nbuffers];
	*to = (Buffer){.name = b->name, .type = type, .ndim = b->nspatial,
	    .shape = NEW_N(arena, int64_t, b->nspatial),
	    .role = BUFFER_TEMP, .span = p->buffers[b->buffer].span};
	for (int d = 0; d < to->ndim; d++)
		to->shape[d] = b->axes[d].extent;
	p->buffers = all;
	return p->nbuffers++;
}

void rule_add_block(Arena *arena, Program *p, int at, Block b)
{
	Block *all = NEW_N(arena, Block, p->nblocks + 1);
	memcpy(all, p->blocks, sizeof *all * (size_t)at);
	memcpy(all + at + 1, p->blocks + at,
	    sizeof *all * (size_t)(p->nblocks - at));
	all[at] = b;
	p->blocks = all;
	p->nblocks++;
	for (int i = 0; i < p->nbuffers; i++)
		p->buffers[i].block += p->buffers[i].block >= at;
	p->buffers[b.buffer].block = at;
}

void rule_make_narrow(Arena *arena, Program *p, int block, const Narrow *n)
{
	int buffer = p->blocks[block].buffer;
	p->blocks[block].body = n->element;
	p->buffers[buffer].type = n->type;
	for (int i = 0; i < p->nblocks; i++)
		if (i != block && expr_find_read(p->blocks[i].body, buffer))
			p->blocks[i].body =
			    narrow_reader(arena, n, buffer, p->blocks[i].body);
}

static bool is_taken(const Program *p, const char *name)
{
	for (int i = 0; i < p->nbuffers; i++)
		if (!strcmp(p->buffers[i].name, name))
			return true;
	return false;
}

const char *rule_new_name(
    Arena *arena, const Program *p, const Block *b, const char *letter)
{
	const char *name = rule_plain_name(
	    arena_printf(arena, "%s_%s", b->name, letter));
	while (is_taken(p, name))
		name = arena_printf(arena, "%s_", name);
	return name;
}

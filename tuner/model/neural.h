/* A small network by stages: what each stage of a candidate is embedded as is
 * summed, and a second part makes a score of the sum ("pack-sum").
 *
 *     stage  ->  NEURAL_WIDTH  ->  NEURAL_WIDTH  \
 *     stage  ->  NEURAL_WIDTH  ->  NEURAL_WIDTH   sum  ->  NEURAL_WIDTH  ->  score
 *
 * Sums have one order, however rows come in blocks and whatever a machine's vectors
 * are: the same bits. */
#ifndef TUNER_NEURAL_H
#define TUNER_NEURAL_H

#include <stdint.h>

enum { NEURAL_WIDTH = 64 };

typedef struct {
	int inputs;	/* of a stage */
	float *weights; /* neural_size of them; free() frees them */
} Neural;
int neural_size(int inputs);
Neural neural_new(int inputs, uint64_t seed);

/* Stages of some candidates, side by side. */
typedef struct {
	int candidates, n;
	float *x;   /* n x inputs */
	int *owner; /* of each the candidate, from 0 on, ascending */
} Stages;

/* What is made of them on the way to scores. */
typedef struct {
	const Stages *stages;
	float *first, *second; /* stages x NEURAL_WIDTH */
	float *sum, *third;    /* candidates x NEURAL_WIDTH */
	float *scores;
} NeuralPass;
NeuralPass pass_new(int candidates, int stages); /* at most */
void pass_free(NeuralPass *pass);
void pass_forward(NeuralPass *pass, const Neural *net, const Stages *stages);
/* Adds what the weights change of the sum of pull * score, to `gradient`. */
void pass_backward(const NeuralPass *pass, const Neural *net, const float *pull,
    float *gradient);

/* Adam, with decay of the weights beside it. */
typedef struct {
	int n, step;
	float *first, *second; /* moments */
} Adam;
Adam adam_new(int n);
void adam_free(Adam *adam);
void adam_step(Adam *adam, const float *gradient, float rate, float decay,
    float *weights);

#endif

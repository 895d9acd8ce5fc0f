#include <stdio.h>

int main(void)
{
	fprintf(stderr, "tunec: no verb\n");
	return 2;
}

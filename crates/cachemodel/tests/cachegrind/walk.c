/* Accesses of several kinds, the same ones each time: no library, no stack of the system's, no input. */

#define ARRAYS 12
#define STRIDE (2u << 20)
#define SHARD (1u << 20)

static unsigned char memory[ARRAYS * STRIDE] __attribute__((aligned(1u << 21)));
static unsigned char stack[4096] __attribute__((aligned(64), used));

static volatile unsigned long *at(unsigned long offset)
{
	return (volatile unsigned long *)(memory + offset);
}

__attribute__((used)) static void walk(void)
{
	unsigned long i, k, x = 1;

	/* The same index of arrays that differ only in their upper bits. */
	for (i = 0; i < 512; i++)
		for (k = 0; k < ARRAYS; k++)
			(void)*at(k * STRIDE + i * 8);
	/* One line after the other, read and written. */
	for (i = 0; i < SHARD; i += 64)
		*at(i) += i;
	/* Anywhere; some accesses reach into the next line. */
	for (i = 0; i < 20000; i++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		(void)*at((x >> 33) % (SHARD - 8));
	}
	for (i = 0; i < 40000; i++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		(void)*at(STRIDE + (x >> 33) % (SHARD / 16 - 8));
	}
	/* A step of a page. */
	for (k = 0; k < 4; k++)
		for (i = 0; i < SHARD; i += 4096)
			*at(i) = k;
}

__attribute__((naked)) void _start(void)
{
	__asm__("lea stack+4096(%rip), %rsp\n\t"
		"call walk\n\t"
		"mov $60, %eax\n\t"
		"xor %edi, %edi\n\t"
		"syscall");
}

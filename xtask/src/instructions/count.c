/* A plugin of QEMU's that counts the instructions which a program executes, and writes the number to standard error when it ends.
 *
 * Distributions leave out the plugins that come with QEMU, and the header. What is used of it is declared here; version 1 of it is
 * that of QEMU 5 to 8. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct qemu_plugin_tb;

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*translated)(uint64_t id, struct qemu_plugin_tb *block));
void qemu_plugin_register_vcpu_tb_exec_cb(
    struct qemu_plugin_tb *block, void (*executed)(unsigned thread, void *data), int flags, void *data);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*ended)(uint64_t id, void *data), void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

/* One number per thread of the program, as nothing orders them. */
enum { THREADS = 256 };
static uint64_t counts[THREADS];

static void executed(unsigned thread, void *instructions)
{
    counts[thread % THREADS] += (uintptr_t)instructions;
}

static void translated(uint64_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(block, executed, 0, (void *)qemu_plugin_tb_n_insns(block));
}

static void ended(uint64_t id, void *data)
{
    (void)id;
    (void)data;
    uint64_t all = 0;
    for (int thread = 0; thread < THREADS; thread++) {
        all += counts[thread];
    }
    fprintf(stderr, "instructions: %" PRIu64 "\n", all);
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
    (void)info;
    (void)argc;
    (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}

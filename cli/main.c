/* The command: finds the subcommand in one table and runs it. Each subcommand lives in cmd_<name>.c. */
#include "cli.h"

#include <locale.h>
#include <signal.h>
#include <string.h>

static const cli_command *const commands[] = {&cli_show, &cli_explain, &cli_index, &cli_coord, &cli_equal,
                                              &cli_convert, &cli_relayout, &cli_dma, &cli_view, &cli_hlo, &cli_plan,
                                              &cli_draw};

enum { NCOMMANDS = sizeof commands / sizeof commands[0] };

static const char help_head[] =
    "tegula - where every element of a tensor lives, in the tiled memory of accelerators\n"
    "\n"
    "usage: tegula COMMAND ARGUMENTS [OPTIONS]\n"
    "\n"
    "commands:\n";

static const char help_tail[] =
    "\n"
    "A layout is one line of text, in quotes for the shell:\n"
    "  'f16[5,100,150]'                                    dense, row-major\n"
    "  'f16[5,100,150] strides=[1,5,500]'                  strided, as PyTorch and NumPy\n"
    "  'f16[5,100,150] spyre'                              Spyre, in sticks of 128 bytes\n"
    "  'bf16[32,32,4096]{2,1,0:T(8,128)(2,1)}'             XLA, as in an HLO dump\n"
    "\n"
    "options everywhere:\n"
    "  --json      answer as one line of JSON\n"
    "  --help      explain the command, with an example\n"
    "  --version   say which version this is\n"
    "\n"
    "`-` as a layout or a file is standard input or output.\n"
    "Exit status: 0 done or yes, 1 no, 2 usage or unreadable input, 3 no plan, 4 I/O or\n"
    "memory.\n"
    "\n"
    "Begin with:  tegula show 'f16[5,100,150] spyre'\n";

static const cli_command *find_command(const char *name) {
    for (size_t i = 0; i < NCOMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

static void print_overview(FILE *stream) {
    fputs(help_head, stream);
    for (size_t i = 0; i < NCOMMANDS; i++) fprintf(stream, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(stream, "  %-10s %s\n", "help", "explain a command: tegula help COMMAND");
    fputs(help_tail, stream);
}

static int fail_unknown(const char *name) {
    const char *names[NCOMMANDS + 2] = {NULL};
    int         which;
    for (size_t i = 0; i < NCOMMANDS; i++) names[i] = commands[i]->name;
    names[NCOMMANDS] = "help";
    return cli_choose(&which, "command", name, names);
}

static bool is_one_of(const char *word, const char *a, const char *b) {
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static int print_version(void) {
    printf("tegula %s\n", tg_version());
    return CLI_OK;
}

static int run_help(int argc, char **argv) {
    if (argc == 0) {
        print_overview(stdout);
        return CLI_OK;
    }
    if (argc == 1 && is_one_of(argv[0], "--version", "-V")) return print_version();
    if (argc > 1) return cli_fail(CLI_USAGE, "help", "one command at a time, not also '%s'", argv[1]);
    const cli_command *command = find_command(argv[0]);
    if (command == NULL) return fail_unknown(argv[0]);
    fputs(command->help, stdout);
    return CLI_OK;
}

static int run_command(const cli_command *command, int argc, char **argv) {
    cli_args  args;
    const int status = cli_parse_arguments(&args, command, argc, argv);
    if (status != CLI_OK) return status;
    if (args.version) return print_version();
    if (!args.help) return command->run(&args);
    fputs(command->help, stdout);
    return CLI_OK;
}

static int run(int argc, char **argv) {
    if (argc < 2) {
        (void)cli_fail(CLI_USAGE, "command", "none given");
        fputc('\n', stderr);
        print_overview(stderr);
        return CLI_USAGE;
    }
    if (is_one_of(argv[1], "--help", "-h")) return run_help(0, NULL);
    if (is_one_of(argv[1], "--version", "-V")) return print_version();
    if (strcmp(argv[1], "help") == 0) return run_help(argc - 2, argv + 2);
    if (argv[1][0] == '-') return cli_fail(CLI_USAGE, argv[1], "the command comes first: tegula COMMAND ...");
    const cli_command *command = find_command(argv[1]);
    return command != NULL ? run_command(command, argc - 2, argv + 2) : fail_unknown(argv[1]);
}

int main(int argc, char **argv) {
    /* A closed pipe is then an error of write(), with a message and a status, and not a silent end. */
    (void)signal(SIGPIPE, SIG_IGN);
    /* So is a file over the limit of `ulimit -f`, and what was begun is removed. */
    (void)signal(SIGXFSZ, SIG_IGN);
    /* How wide a character is, for carets. Numbers stay in the C locale. */
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    return cli_close_output(run(argc, argv));
}

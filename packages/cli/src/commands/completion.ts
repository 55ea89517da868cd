import { CommandFailure, type Command, type CommandTable } from "../command.ts";
import { COMMON_OPTIONS } from "../parse-arguments.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

export const completion: Command = {
  summary: "Print a shell completion script for commands and flags",
  usage: "<bash|zsh|fish>",
  details: `bash: add  eval "$(promptd completion bash)"  to ~/.bashrc
zsh:  add  eval "$(promptd completion zsh)"  to ~/.zshrc, after compinit
fish: promptd completion fish > ~/.config/fish/completions/promptd.fish`,
  session: `$ eval "$(promptd completion bash)"
$ promptd runs <Tab>
cancel  get  list  watch`,
  options: {},
  async run(args, io) {
    const shell = SHELLS.find((one) => one === args.positionals[0]);
    if (shell === undefined) {
      throw new CommandFailure(`There is no completion for "${args.positionals[0] ?? ""}".`, {
        hint: `Shells: ${SHELLS.join(", ")}`,
      });
    }
    const words = await describeWords(io.commands);
    const script = shell === "fish" ? formatFish(words) : formatBash(words, shell);
    io.result({ shell, script }, script);
  },
};

/** The words that may follow each command prefix: "runs" is followed by "list", "get", and so on. */
type Words = ReadonlyMap<string, ReadonlySet<string>>;

async function describeWords(table: CommandTable): Promise<Words> {
  const words = new Map<string, Set<string>>();
  for (const [path, load] of Object.entries(table)) {
    const parts = path.split(" ");
    for (const [at, part] of parts.entries()) {
      const before = parts.slice(0, at).join(" ");
      words.set(before, (words.get(before) ?? new Set()).add(part));
    }
    const { options } = await load();
    const flags = Object.keys({ ...options, ...COMMON_OPTIONS }).map((name) => `--${name}`);
    words.set(path, new Set([...(words.get(path) ?? []), ...flags]));
  }
  return words;
}

/** One function for both shells: zsh runs it through bashcompinit. Falls back to file names. */
function formatBash(words: Words, shell: "bash" | "zsh"): string {
  const cases = [...words].map(([before, next]) => `    "${before}") words="${[...next].join(" ")}" ;;`);
  return `${shell === "zsh" ? "autoload -Uz bashcompinit && bashcompinit\n" : ""}_promptd() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" words="" at
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${COMP_WORDS[at]}" in -*) ;; *) path="\${path:+$path }\${COMP_WORDS[at]}" ;; esac
  done
  while :; do
    case "$path" in
${cases.map((line) => `  ${line}`).join("\n")}
    esac
    if [ -n "$words" ] || [ -z "$path" ]; then break; fi
    case "$path" in *" "*) path="\${path% *}" ;; *) path="" ; break ;; esac
  done
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _promptd promptd`;
}

function formatFish(words: Words): string {
  const lines = [...words].flatMap(([before, next]) => {
    const parts = before === "" ? [] : before.split(" ");
    const seen = parts.map((part) => `__fish_seen_subcommand_from ${part}`).join("; and ");
    const condition = parts.length === 0 ? "__fish_use_subcommand" : seen;
    return [...next].map((word) =>
      word.startsWith("--")
        ? `complete -c promptd -n '${condition}' -l ${word.slice(2)}`
        : `complete -c promptd -f -n '${condition}' -a ${word}`,
    );
  });
  return lines.join("\n");
}

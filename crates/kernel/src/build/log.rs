//! What a failed build's log says first. Pure.

/// Lines shown of it.
const LINES: usize = 6;

/// The first error in a build's log, with the lines that belong to it: the compiler's if there is one, else the
/// linker's or a script's, else make's.
#[must_use]
pub fn first_errors(log: &str) -> Vec<String> {
    let lines: Vec<&str> = log.lines().collect();
    let tests: [fn(&str) -> bool; 4] = [
        |line| line.contains(": error:") || line.contains(": fatal error:") || line.starts_with("error:"),
        |line| line.contains("undefined reference to") || line.contains("multiple definition of"),
        |line| line.starts_with("ERROR: ") || line.contains("ld: ") || line.contains("error: "),
        |line| line.contains("*** "),
    ];
    let Some(first) = tests.iter().find_map(|test| lines.iter().position(|line| test(line))) else {
        let from = lines.len().saturating_sub(LINES);
        return lines.iter().skip(from).map(|line| (*line).to_owned()).collect();
    };
    // gcc says in which function it is before, and shows the place after.
    let before = first
        .checked_sub(1)
        .filter(|&index| lines.get(index).is_some_and(|line| line.ends_with(':') && line.contains(": In ")));
    let shown = lines.iter().enumerate().skip(before.unwrap_or(first));
    shown
        .take_while(|(index, line)| *index <= first || line.starts_with(' ') && line.contains('|'))
        .take(LINES)
        .map(|(_, line)| (*line).to_owned())
        .collect()
}

/// Why a program of one file was not built, in the compiler's words, or the linker's.
pub(super) fn why_not_built(log: &str, program: &str) -> String {
    const MAX: usize = 160;
    let stem = program.strip_suffix("_64").or_else(|| program.strip_suffix("_32")).unwrap_or(program);
    let own = format!("{stem}.c:");
    let compiler = log.lines().find(|line| {
        let at_own =
            line.find(&own).is_some_and(|at| at == 0 || line.get(..at).is_some_and(|it| it.ends_with('/')));
        at_own && line.contains("error:")
    });
    let why = match compiler {
        Some(line) => line.split_once("error:").map_or(line, |(_, why)| why),
        None => linkers_words(log, program).unwrap_or("see the log"),
    };
    why.trim().chars().take(MAX).collect()
}

/// With its words kept together, what make says of a target follows what its tools said.
fn linkers_words<'a>(log: &'a str, program: &str) -> Option<&'a str> {
    let target = format!("/{program}] Error");
    let mut words = None;
    for line in log.lines() {
        if line.starts_with("make") && line.contains("*** [") {
            if line.contains(&target) {
                return words;
            }
            words = None;
        } else if line.contains("ld: ") || line.contains("undefined reference") {
            words = words.or(Some(line));
        }
    }
    None
}

/// Whether a line of kbuild's output is a step done, as `  CC      mm/mmap.o`.
pub(super) fn is_step(line: &[u8]) -> bool {
    line.starts_with(b"  ") && line.get(2).is_some_and(u8::is_ascii_uppercase)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_program_that_was_not_built_has_its_own_reason() {
        let log = "migration.c:12:10: fatal error: numa.h: No such file or directory\n   12 | #include <numa.h>\n\
            make: *** [../lib.mk:222: /out/migration] Error 1\n\
            x/protection_keys.c:3:1: error: unknown type name 'u6'\n\
            make: *** [Makefile:1: /out/protection_keys_64] Error 1\n\
            /usr/bin/ld: cannot find -lcap: No such file or directory\ncollect2: error: ld returned 1 exit status\n\
            make: *** [../lib.mk:222: /out/memfd_secret] Error 1\n";
        assert_eq!(why_not_built(log, "migration"), "numa.h: No such file or directory");
        assert_eq!(why_not_built(log, "protection_keys_64"), "unknown type name 'u6'");
        assert_eq!(
            why_not_built(log, "memfd_secret"),
            "/usr/bin/ld: cannot find -lcap: No such file or directory"
        );
        assert_eq!(why_not_built(log, "keys"), "see the log");
    }

    #[test]
    fn the_compilers_words_and_not_makes() {
        let log = "  CC      mm/a.o\n../mm/mmap.c: In function 'f':\n../mm/mmap.c:12:5: error: 'x' undeclared (first use)\n\
            \x20  12 |     x = 1;\n      |     ^\nmake[3]: *** [../scripts/Makefile.build:234: mm/mmap.o] Error 1\n\
            ../mm/b.c:1:1: error: second\n";
        assert_eq!(
            first_errors(log),
            [
                "../mm/mmap.c: In function 'f':",
                "../mm/mmap.c:12:5: error: 'x' undeclared (first use)",
                "   12 |     x = 1;",
                "      |     ^"
            ]
        );
    }

    #[test]
    fn a_missing_header_the_linker_and_make() {
        assert_eq!(
            first_errors("../a.c:1:10: fatal error: x.h: No such file\n"),
            ["../a.c:1:10: fatal error: x.h: No such file"]
        );
        let link = "ld: mm/a.o: in function `f':\na.c:(.text+0x1): undefined reference to `g'\nmake: *** [vmlinux] Error 1\n";
        assert_eq!(first_errors(link), ["a.c:(.text+0x1): undefined reference to `g'"]);
        assert_eq!(first_errors("x\nmake: *** No rule to make target 'y'.  Stop.\nz\n").len(), 1);
        assert_eq!(first_errors("a\nb\n"), ["a", "b"]);
        assert_eq!(first_errors(""), [""; 0]);
    }

    #[test]
    fn steps() {
        assert!(is_step(b"  CC      mm/mmap.o"));
        assert!(!is_step(b"make[1]: Entering directory") && !is_step(b"   12 |  X") && !is_step(b""));
    }

    proptest! {
        #[test]
        fn no_log_makes_it_panic(log in "(error: |\\*\\*\\* |\n|: In f:| \\|ä|x){0,40}") {
            prop_assert!(first_errors(&log).len() <= LINES);
        }
    }
}

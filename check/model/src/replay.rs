// SPDX-License-Identifier: MIT
//! Reads what SPIN prints when it replays a counter-example: who did what, in which order, and
//! which variables it changed.

/// One statement, or all statements of one `d_step`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    pub process: usize,
    pub path: String,
    pub line: usize,
    /// SPIN's number of the statement; those inside a `d_step` have lower ones.
    pub state: u64,
    /// SPIN's own text of the statements. Of a `d_step` the first one is not told.
    pub statements: Vec<String>,
    /// Where the statements stand, in the same order.
    pub places: Vec<(String, usize)>,
    /// Variables that were set, with their new values, in order; locals as `name(pid):variable`.
    pub set: Vec<(String, String)>,
}

/// Where the primitives stand, each of which is one `d_step`.
pub const MACHINE_FOLDER: &str = "/machine/";

/// Where a process stands at the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    pub process: usize,
    pub path: String,
    pub line: usize,
    /// It is at its end, or at a label that says that it may stay there.
    pub may_end: bool,
}

#[derive(Debug, Default, PartialEq)]
pub struct Replay {
    /// Names of the process types, by the numbers of the processes.
    pub processes: Vec<String>,
    pub steps: Vec<Step>,
    /// The step that begins the cycle.
    pub cycle_at: Option<usize>,
    /// The text of the assertion that does not hold.
    pub assertion: Option<String>,
    pub standing: Vec<Standing>,
    /// All variables' last values.
    pub last: Vec<(String, String)>,
}

/// `  2:  proc  2 (b:1) /a/b.pml:12 (state 4)  [sub-sequence]`
struct ProcessLine<'a> {
    depth: u64,
    process: usize,
    name: &'a str,
    path: &'a str,
    line: usize,
    rest: &'a str,
}

fn process_line(text: &str) -> Option<ProcessLine<'_>> {
    let (depth, after) = text.split_once(":\tproc ")?;
    let depth = depth.trim().parse().ok()?;
    let (process, after) = after.trim_start().split_once(" (")?;
    let process = process.parse().ok()?;
    let (name, after) = after.split_once(") ")?;
    // `writer:1`, and `:init::1`.
    let name = name.rsplit_once(':')?.0.trim_matches(':');
    let (place, rest) = after.split_once(" (state ")?;
    let (path, line) = place.rsplit_once(':')?;
    Some(ProcessLine { depth, process, name, path, line: line.parse().ok()?, rest })
}

/// The number and the statement in `4)  [x = (x+1)]`.
fn statement(rest: &str) -> Option<(u64, &str)> {
    let (state, text) = rest.split_once(")\t[")?;
    Some((state.parse().ok()?, text.trim_end().strip_suffix(']')?))
}

#[derive(Default)]
struct Reader {
    replay: Replay,
    depth: u64,
    /// What does not hold is the next step; after it the replay may go on, to no purpose.
    failing: bool,
    failed: bool,
    at_end: bool,
}

impl Reader {
    fn process(&mut self, found: &ProcessLine) {
        let replay = &mut self.replay;
        while replay.processes.len() <= found.process {
            replay.processes.push(String::new());
        }
        if let Some(name) = replay.processes.get_mut(found.process) {
            *name = found.name.to_string();
        }
        if self.at_end {
            replay.standing.push(Standing {
                process: found.process,
                path: found.path.to_string(),
                line: found.line,
                may_end: found.rest.contains("<valid end state>"),
            });
            return;
        }
        let Some((state, text)) = statement(found.rest) else {
            return;
        };
        let place = (found.path.to_string(), found.line);
        if self.failed {
            return;
        }
        self.failed = self.failing;
        let goes_on = self.depth == found.depth;
        self.depth = found.depth;
        if let Some(step) = replay.steps.last_mut() {
            let is_many = step.statements.first().is_some_and(|text| text == "sub-sequence");
            let is_inside = is_many || found.path.contains(MACHINE_FOLDER);
            let same = goes_on && step.process == found.process;
            if same && is_inside && state < step.state {
                step.statements.push(text.to_string());
                step.places.push(place);
                return;
            }
        }
        replay.steps.push(Step {
            process: found.process,
            path: found.path.to_string(),
            line: found.line,
            state,
            statements: vec![text.to_string()],
            places: vec![place],
            set: Vec::new(),
        });
    }

    fn line(&mut self, text: &str) {
        if let Some(found) = process_line(text) {
            self.process(&found);
        } else if text.contains("<<<<<START OF CYCLE>>>>>") {
            self.replay.cycle_at = Some(self.replay.steps.len());
        } else if let Some(rest) = text.trim().strip_prefix("spin: text of failed assertion:") {
            self.replay.assertion = Some(rest.trim().to_string());
        } else if text.ends_with("Error: assertion violated") {
            self.failing = !text.contains("_spin_nvr.tmp");
        } else if text.starts_with("#processes:") {
            self.at_end = true;
        } else if text.trim() == "transition failed" {
            // The replay shows what could not be executed as if it were a step.
            self.replay.steps.pop();
        } else if let Some((name, value)) =
            text.strip_prefix("\t\t").and_then(|rest| rest.split_once(" = "))
        {
            let pair = (name.trim().to_string(), value.trim().to_string());
            match self.replay.steps.last_mut() {
                _ if self.at_end => self.replay.last.push(pair),
                _ if self.failed => {}
                Some(step) => step.set.push(pair),
                None => {}
            }
        }
    }
}

pub fn read(output: &str) -> Replay {
    let mut reader = Reader::default();
    for line in output.lines() {
        reader.line(line);
    }
    reader.replay
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: &str = "\
  1:\tproc  1 (writer:1) /m/a.pml:7 (state 4)\t[sub-sequence]
\t\tcached[0] = 1
  1:\tproc  1 (writer:1) /m/machine/b.pml:69 (state 2)\t[dirty[0] = 1]
\t\tdirty[0] = 1
  2:\tproc  1 (writer:1) /m/a.pml:8 (state 5)\t[i = (i+1)]
\t\twriter(1):i = 1
";

    #[test]
    fn the_statements_of_a_d_step_are_one_step() {
        let replay = read(STORE);
        assert_eq!(replay.steps.len(), 2);
        assert_eq!(replay.steps[0].set.len(), 2);
        assert_eq!(replay.steps[0].places[1], ("/m/machine/b.pml".to_string(), 69));
        assert_eq!(replay.steps[1].set, [("writer(1):i".to_string(), "1".to_string())]);
        assert_eq!(replay.processes, ["", "writer"]);
    }

    #[test]
    fn the_first_process_has_a_name_without_colons() {
        let replay = read("  1:\tproc  0 (:init::1) /m/a.pml:7 (state 4)\t[x = 1]\n");
        assert_eq!(replay.processes, ["init"]);
    }

    #[test]
    fn what_could_not_be_executed_is_no_step() {
        assert_eq!(read(&format!("{STORE}\ttransition failed\n")).steps.len(), 1);
    }

    #[test]
    fn a_primitive_is_one_step_whatever_its_first_statement() {
        let release = "  8:\tproc  3 (updater:1) /m/a.pml:94 (state 29)\t[add_ = (old+1)]\n  8:\t\
                       proc  3 (updater:1) /m/machine/b.pml:83 (state 25)\t[sub-sequence]\n  8:\t\
                       proc  3 (updater:1) /m/a.pml:95 (state 30)\t[x = 1]\n";
        let replay = read(release);
        assert_eq!(replay.steps.len(), 2);
        assert_eq!(replay.steps[1].statements, ["x = 1"]);
    }

    #[test]
    fn what_the_replay_shows_after_the_failed_assertion_is_left_out() {
        let failure = "spin: /m/a.pml:9, Error: assertion violated\n\
                       spin: text of failed assertion: assert((x==1))\n\
                       \x20 3:\tproc  1 (writer:1) /m/a.pml:9 (state 6)\t[assert((x==1))]\n\
                       \x20 3:\tproc  1 (writer:1) /m/a.pml:10 (state 7)\t[x = 5]\n\t\tx = 5\n";
        let replay = read(&format!("{STORE}{failure}"));
        assert_eq!(replay.steps.len(), 3);
        assert_eq!(replay.assertion.as_deref(), Some("assert((x==1))"));
        assert!(replay.steps[2].set.is_empty());
    }

    #[test]
    fn the_cycle_begins_at_the_step_after_its_mark() {
        let replay = read(&format!("  <<<<<START OF CYCLE>>>>>\n{STORE}"));
        assert_eq!(replay.cycle_at, Some(0));
    }

    #[test]
    fn at_the_end_it_is_told_who_may_stay_where_it_is() {
        let end = "#processes: 2\n\t\tx = 3\n 15:\tproc  1 (a:1) /m/a.pml:11 (state 7) <valid end \
                   state>\n 15:\tproc  0 (b:1) /m/a.pml:18 (state 5)\n";
        let replay = read(&format!("{STORE}{end}"));
        let may_end: Vec<bool> = replay.standing.iter().map(|each| each.may_end).collect();
        assert_eq!(may_end, [true, false]);
        assert_eq!(replay.last, [("x".to_string(), "3".to_string())]);
        assert_eq!(replay.steps.len(), 2);
    }
}

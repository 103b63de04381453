//! Whether the facts fit together: every name that one refers to is there.

use firstpass_yaml::nearest;

use crate::file::Error;
use crate::operator::Effect;
use crate::parts::Workload;
use crate::selector::KindSelector;
use crate::tables::Knowledge;

/// The first thing that refers to something unknown.
pub(crate) fn check(all: &Knowledge) -> Result<(), Error> {
    for chart in all.charts() {
        let check = Check {
            all,
            file: &chart.file,
            about: format!("chart `{}`", chart.name),
        };
        check.source(&chart.source)?;
        chart
            .kinds
            .iter()
            .try_for_each(|kinds| check.kinds(&kinds.include))?;
        check.workloads(&chart.workloads)?;
    }
    for operator in all.operators() {
        let check = Check {
            all,
            file: &operator.file,
            about: format!("operator `{}`", operator.name),
        };
        check.source(&operator.source)?;
        operator
            .at_start
            .iter()
            .try_for_each(|effect| check.effect(effect))?;
        for on_object in &operator.on_object {
            check.kinds(std::slice::from_ref(&on_object.kind))?;
            on_object
                .effects
                .iter()
                .try_for_each(|effect| check.effect(effect))?;
            let awaited = on_object
                .effects
                .iter()
                .filter_map(|effect| effect.before_status.as_deref());
            for status in awaited {
                check.status(&on_object.kind, status)?;
            }
        }
        operator
            .reads_once
            .iter()
            .try_for_each(|reads| check.source(&reads.source))?;
    }
    for def in all.all_kinds() {
        let check = Check {
            all,
            file: &def.file,
            about: format!("kind `{}/{}`", def.group, def.kind),
        };
        check.source(&def.source)?;
        if def.versions.is_empty() {
            return check.fail("has no version");
        }
        def.status
            .iter()
            .try_for_each(|write| check.timing(&write.after))?;
        def.controller
            .iter()
            .try_for_each(|controller| check.operator(controller))?;
        def.needs
            .iter()
            .try_for_each(|need| check.kinds(std::slice::from_ref(&need.kind)))?;
    }
    for manifest in all.manifests() {
        let check = Check {
            all,
            file: &manifest.file,
            about: format!("manifest `{}`", manifest.name),
        };
        check.source(&manifest.source)?;
        check.kinds(&manifest.kinds)?;
        check.workloads(&manifest.workloads)?;
    }
    for distribution in all.distributions() {
        let check = Check {
            all,
            file: &distribution.file,
            about: format!("distribution `{}`", distribution.name),
        };
        check.source(&distribution.source)?;
        for brings in &distribution.brings {
            check.kinds(&brings.kinds)?;
            check.workloads(&brings.workloads)?;
        }
    }
    for (name, timing) in all.timings() {
        Check {
            all,
            file: &timing.file,
            about: format!("timing `{name}`"),
        }
        .source(&timing.source)?;
    }
    Ok(())
}

struct Check<'k> {
    all: &'k Knowledge,
    file: &'k str,
    about: String,
}

impl Check<'_> {
    fn fail(&self, message: &str) -> Result<(), Error> {
        let message = format!("{} {message}", self.about);
        Err(Error {
            file: self.file.to_owned(),
            line: 0,
            column: 0,
            message,
        })
    }

    fn unknown<'n>(
        &self,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Result<(), Error> {
        let hint = nearest(name, known).map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
        self.fail(&format!(
            "refers to {what} `{name}`, which no file describes{hint}"
        ))
    }

    fn source(&self, source: &str) -> Result<(), Error> {
        if source.trim().is_empty() {
            self.fail("has an empty `source`")
        } else {
            Ok(())
        }
    }

    fn timing(&self, name: &str) -> Result<(), Error> {
        match self.all.timing(name) {
            Some(_) => Ok(()),
            None => self.unknown("timing", name, self.all.timings().keys().map(String::as_str)),
        }
    }

    fn operator(&self, name: &str) -> Result<(), Error> {
        match self.all.operator(name) {
            Some(_) => Ok(()),
            None => self.unknown(
                "operator",
                name,
                self.all.operators().iter().map(|operator| operator.name.as_str()),
            ),
        }
    }

    /// Patterns may name groups of which nothing is known.
    fn kinds(&self, selectors: &[KindSelector]) -> Result<(), Error> {
        for selector in selectors {
            let Some(group) = selector.group().filter(|group| group.contains('.')) else {
                continue;
            };
            let mut kinds = self.all.kinds_of_group(group);
            let known = match selector.kind() {
                Some(kind) => self.all.custom_kind(group, kind).is_some() || is_builtin(group),
                None => kinds.next().is_some(),
            };
            if !known {
                let kinds = self.all.kinds_of_group(group);
                let names: Vec<String> = kinds.map(|def| format!("{}/{}", def.group, def.kind)).collect();
                return self.unknown("kind", &selector.to_string(), names.iter().map(String::as_str));
            }
        }
        Ok(())
    }

    /// An effect can only come before a status that the kind of the reconciled object has.
    fn status(&self, kind: &KindSelector, status: &str) -> Result<(), Error> {
        let defs = self.all.select(std::slice::from_ref(kind));
        let names: Vec<&str> = defs
            .flat_map(|def| &def.status)
            .filter_map(|write| write.name.as_deref())
            .collect();
        if names.contains(&status) {
            return Ok(());
        }
        self.unknown(&format!("status of `{kind}`"), status, names)
    }

    fn workloads(&self, workloads: &[Workload]) -> Result<(), Error> {
        for workload in workloads {
            workload
                .operator
                .iter()
                .try_for_each(|operator| self.operator(operator))?;
            workload
                .ready_after
                .iter()
                .try_for_each(|timing| self.timing(timing))?;
        }
        Ok(())
    }

    fn effect(&self, effect: &Effect) -> Result<(), Error> {
        self.timing(&effect.after)?;
        self.kinds(&effect.kinds)?;
        self.workloads(&effect.workloads)
    }
}

/// Groups that Kubernetes itself serves, of which `kinds` sections say nothing.
fn is_builtin(group: &str) -> bool {
    group == "gateway.networking.k8s.io" || (group.ends_with(".k8s.io") && group.matches('.').count() == 2)
}

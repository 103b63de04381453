// Package scenario reads scenario files: a small repository and a script of
// steps in one text file. README.md describes the format.
package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// A Scenario is one file.
type Scenario struct {
	Name string
	Header
	// Stage holds the objects that exist before Flux starts.
	Stage []map[string]any
	// Seeds are applied when the controllers run; the record begins there.
	Seeds []map[string]any
	// Revisions are the contents of the repository; revision n is at n-1.
	Revisions []map[string]string
	// Charts are the files of charts, below a directory of the chart's name.
	Charts map[string]string
	// Knowledge is in the format of firstpass's knowledge files.
	Knowledge string
	Steps     []Step
}

// Header is the YAML before the first section.
type Header struct {
	// Shows says in a sentence what the scenario is about.
	Shows string `json:"shows"`
	// Rules are the facts of the reference that it touches.
	Rules []string `json:"rules"`
	// Flux is the minor version: 2.9, or 2.7 for the old kustomize-controller.
	Flux string `json:"flux"`
	// Helm starts source-controller and helm-controller too.
	Helm bool `json:"helm"`
	// Workloads is how long pods take to become ready; never if empty.
	Workloads string `json:"workloads"`
	// Delays are those of the knowledge, by name; one second unless given.
	Delays map[string]string `json:"delays"`
	// Operators are built-in knowledge files, such as operators/cdi.yaml.
	Operators []string `json:"operators"`
	// WaitsVary is for the comparison.
	WaitsVary bool `json:"waits_vary"`
	// Arguments are further arguments of kustomize-controller.
	Arguments []string `json:"arguments"`
}

// A Step is one line of the script.
type Step struct {
	// Text is the line.
	Text string
	// Verb is its first word.
	Verb string
	// Args are the words after it.
	Args []string
	// Body is the flow-style YAML at its end, if any.
	Body map[string]any
}

// Read reads a file.
func Read(path string) (*Scenario, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	scenario, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	scenario.Name = strings.TrimSuffix(filepath.Base(path), ".txt")
	return scenario, nil
}

func parse(text string) (*Scenario, error) {
	head, sections := split(text)
	scenario := &Scenario{}
	if err := yaml.UnmarshalStrict([]byte(head), &scenario.Header); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if scenario.Flux == "" {
		scenario.Flux = "2.9"
	}
	for _, section := range sections {
		if err := scenario.take(section); err != nil {
			return nil, fmt.Errorf("section %q: %w", section.title, err)
		}
	}
	return scenario, nil
}

type section struct{ title, text string }

// split cuts a file at lines that begin with "=== ".
func split(text string) (string, []section) {
	var sections []section
	var head strings.Builder
	current := &head
	builders := []*strings.Builder{}
	for _, line := range strings.SplitAfter(text, "\n") {
		if title, ok := strings.CutPrefix(line, "=== "); ok {
			sections = append(sections, section{title: strings.TrimSpace(title)})
			current = &strings.Builder{}
			builders = append(builders, current)
			continue
		}
		current.WriteString(line)
	}
	for index, builder := range builders {
		sections[index].text = builder.String()
	}
	return head.String(), sections
}

func (s *Scenario) take(section section) error {
	word, rest, _ := strings.Cut(section.title, " ")
	switch word {
	case "stage":
		objects, err := documents(section.text)
		s.Stage = append(s.Stage, objects...)
		return err
	case "seeds":
		objects, err := documents(section.text)
		s.Seeds = append(s.Seeds, objects...)
		return err
	case "tiers":
		tiers, err := tiers(section.text)
		s.Seeds = append(s.Seeds, tiers...)
		return err
	case "charts":
		files, err := overlay(nil, section.text)
		s.Charts = files
		return err
	case "knowledge":
		s.Knowledge += section.text
		return nil
	case "revision":
		number, err := strconv.Atoi(rest)
		if err != nil || number != len(s.Revisions)+1 {
			return fmt.Errorf("revision %d is next", len(s.Revisions)+1)
		}
		return s.takeRevision(section.text)
	case "steps":
		return s.takeSteps(section.text)
	}
	return fmt.Errorf("no such section")
}

// takeRevision lays the files over those of the revision before.
func (s *Scenario) takeRevision(text string) error {
	var before map[string]string
	if len(s.Revisions) > 0 {
		before = s.Revisions[len(s.Revisions)-1]
	}
	files, err := overlay(before, text)
	s.Revisions = append(s.Revisions, files)
	return err
}

// overlay lays files over others; a file titled "path [removed]" is gone.
func overlay(before map[string]string, text string) (map[string]string, error) {
	files := map[string]string{}
	for path, content := range before {
		files[path] = content
	}
	path := ""
	for _, line := range strings.SplitAfter(text, "\n") {
		if title, ok := strings.CutPrefix(line, "--- "); ok {
			path = strings.TrimSpace(title)
			if gone, ok := strings.CutSuffix(path, " [removed]"); ok {
				delete(files, gone)
				path = ""
				continue
			}
			files[path] = ""
			continue
		}
		if path == "" {
			if strings.TrimSpace(line) != "" {
				return nil, fmt.Errorf("text before the first file: %s", line)
			}
			continue
		}
		files[path] += line
	}
	return files, nil
}

func (s *Scenario) takeSteps(text string) error {
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		step := Step{Text: line}
		words := line
		if at := strings.Index(line, "{"); at >= 0 {
			words = line[:at]
			if err := yaml.Unmarshal([]byte(line[at:]), &step.Body); err != nil {
				return fmt.Errorf("step %q: %w", line, err)
			}
		}
		step.Args = strings.Fields(words)
		step.Verb, step.Args = step.Args[0], step.Args[1:]
		s.Steps = append(s.Steps, step)
	}
	return nil
}

func documents(text string) ([]map[string]any, error) {
	var objects []map[string]any
	for _, document := range strings.Split("\n"+text, "\n---") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return nil, err
		}
		if object != nil {
			objects = append(objects, object)
		}
	}
	return objects, nil
}

// tiers makes Flux Kustomizations of "name: {field of spec: value}" lines, in
// the order of the lines.
func tiers(text string) ([]map[string]any, error) {
	var specs map[string]map[string]any
	if err := yaml.Unmarshal([]byte(text), &specs); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(specs))
	for name := range specs {
		names = append(names, name)
	}
	at := func(name string) int { return strings.Index("\n"+text, "\n"+name+":") }
	sort.Slice(names, func(i, j int) bool { return at(names[i]) < at(names[j]) })
	var objects []map[string]any
	for _, name := range names {
		spec := map[string]any{
			"interval": "1h", "retryInterval": "5s", "timeout": "30s", "prune": true, "path": name,
			"sourceRef": map[string]any{"kind": "GitRepository", "name": "flux-system"},
		}
		for key, value := range specs[name] {
			spec[key] = value
		}
		objects = append(objects, map[string]any{
			"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
			"metadata": map[string]any{"name": name, "namespace": "flux-system"},
			"spec":     spec,
		})
	}
	return objects, nil
}

// Delay is how long a named delay of the knowledge takes in this scenario.
func (s *Scenario) Delay(name string) time.Duration {
	if text, ok := s.Delays[name]; ok {
		if delay, err := time.ParseDuration(text); err == nil {
			return delay
		}
	}
	return time.Second
}

// Arg is the how-many-th word after the verb; empty if there is none.
func (s Step) Arg(index int) string {
	if index < len(s.Args) {
		return s.Args[index]
	}
	return ""
}

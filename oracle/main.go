// Command oracle plays scenarios on real Flux controllers and a real API server
// and writes down every change of every object.
//
//	oracle -programs DIR -knowledge DIR -out DIR SCENARIO.txt…
//
// For each scenario NAME.txt it writes DIR/NAME.jsonl. Files that end in .plan.jsonl
// are no scenarios but requests to an API server, whose answers go to
// DIR/NAME.answers.jsonl. cargo xtask oracle calls it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"firstpass.dev/oracle/internal/scenario"
	"firstpass.dev/oracle/internal/world"
)

// scenarioLimit ends a scenario that hangs.
const scenarioLimit = 12 * time.Minute

func main() {
	programs := flag.String("programs", "", "directory of the built programs")
	facts := flag.String("knowledge", "", "directory of the knowledge files")
	out := flag.String("out", "", "directory for the records")
	side := flag.Int("side-by-side", 4, "how many control planes run at once")
	flag.Parse()
	if *programs == "" || *facts == "" || *out == "" || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	places := world.Places{Programs: *programs, Knowledge: *facts, Logs: filepath.Join(*out, "logs")}

	if strings.HasSuffix(flag.Arg(0), ".plan.jsonl") {
		if err := world.Ask(ctx, flag.Args(), places, *out); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		return
	}

	var failures sync.Map
	var running sync.WaitGroup
	slots := make(chan struct{}, *side)
	for _, path := range flag.Args() {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := play(ctx, path, places, *out); err != nil {
				failures.Store(path, err)
			}
		})
	}
	running.Wait()
	failed := false
	failures.Range(func(path, err any) bool {
		failed = true
		fmt.Fprintf(os.Stderr, "error: %s: %v\n", path, err)
		return true
	})
	if failed {
		os.Exit(1)
	}
}

func play(ctx context.Context, path string, places world.Places, out string) error {
	played, err := scenario.Read(path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, scenarioLimit)
	defer cancel()
	began := time.Now()
	record := filepath.Join(out, played.Name+".jsonl")
	err = world.Play(ctx, played, places, record)
	fmt.Fprintf(os.Stderr, "%-50s %6.1fs\n", played.Name, time.Since(began).Seconds())
	return err
}

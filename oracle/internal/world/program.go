package world

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// A program is a process that this run started and ends.
type program struct {
	name    string
	command *exec.Cmd
	log     *os.File
	ended   chan struct{}
}

func start(name, logPath string, environment []string, binary string, arguments ...string) (*program, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	command := exec.Command(binary, arguments...)
	command.Env = append(os.Environ(), environment...)
	command.Stdout, command.Stderr = log, log
	// A process group of its own, and an end with us even if we are killed.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		log.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	started := &program{name: name, command: command, log: log, ended: make(chan struct{})}
	go func() {
		_ = command.Wait()
		close(started.ended)
	}()
	return started, nil
}

func (p *program) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(5 * time.Second):
		_ = p.command.Process.Kill()
		<-p.ended
	}
	p.log.Close()
}

func (p *program) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// given are the ports that this process has handed out: control planes start side
// by side, and none may take another's between the search and its start.
var (
	given      = map[int]bool{}
	givenMutex sync.Mutex
)

// freePorts finds ports on loopback that nobody listens on.
func freePorts(count int) ([]int, error) {
	givenMutex.Lock()
	defer givenMutex.Unlock()
	var ports []int
	for len(ports) < count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		port := listener.Addr().(*net.TCPAddr).Port
		if !given[port] {
			given[port] = true
			ports = append(ports, port)
		}
	}
	return ports, nil
}

package quorate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"quorate/e2e/proc"
)

const (
	// readyWait bounds the start of a server, stopGrace its orderly end: it is
	// allowed 10 s to finish what is in flight.
	readyWait = time.Minute
	stopGrace = 15 * time.Second
	logTail   = 4 << 10
)

// Config says how to run a command that serves until it is stopped.
type Config struct {
	Spawner *proc.Spawner
	Binary  string
	// Args are the command and its flags, such as serve --data-dir D.
	Args []string
	// Ready is the start of the line that tells the server's address, such as "quorate ready".
	Ready string
	// LogPath receives both outputs; it is appended to.
	LogPath string
}

// A Server is a running command.
type Server struct {
	URL string // as the ready line gives it

	cfg     Config
	log     *os.File
	process *proc.Process
}

// Start runs the command and waits for its ready line. On an error nothing is left running.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	log, err := os.OpenFile(cfg.LogPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, log: log}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) error {
	watcher := proc.NewLineWatcher(s.cfg.Ready, s.log)
	cmd := exec.Command(s.cfg.Binary, s.cfg.Args...)
	cmd.Stdout, cmd.Stderr = watcher, s.log
	process, err := s.cfg.Spawner.Start(cmd)
	if err != nil {
		return err
	}
	s.process = process
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	select {
	case s.URL = <-watcher.Found():
		return nil
	case <-process.Done():
		return fmt.Errorf("%s ended before it was ready (%s):\n%s", cmd, process.Status(), s.LogTail())
	case <-ctx.Done():
		return fmt.Errorf("%s printed no line %q: %w:\n%s", cmd, s.cfg.Ready, ctx.Err(), s.LogTail())
	}
}

// end kills what runs and closes the log.
func (s *Server) end() error {
	if s.process != nil {
		s.process.Kill()
	}
	return s.log.Close()
}

// Stop ends the server in an orderly way (SIGTERM). It must exit with code 0.
func (s *Server) Stop() error {
	code, err := s.process.Stop(stopGrace)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d after SIGTERM", code)
	}
	if err != nil {
		err = fmt.Errorf("stop quorate: %w:\n%s", err, s.LogTail())
	}
	return errors.Join(err, s.end())
}

// Kill ends the server as a crash would (SIGKILL).
func (s *Server) Kill() error { return s.end() }

// Restart runs the same command again, on the same data, after Stop or Kill.
func (s *Server) Restart(ctx context.Context) (*Server, error) { return Start(ctx, s.cfg) }

// PID returns the process ID of the server.
func (s *Server) PID() int { return s.process.PID() }

// LogPath returns where the outputs of the command go.
func (s *Server) LogPath() string { return s.cfg.LogPath }

// LogTail returns the end of the server's log, for the text of a failure.
func (s *Server) LogTail() string {
	b, err := os.ReadFile(s.cfg.LogPath)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-logTail):])
}

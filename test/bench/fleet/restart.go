package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/test/fleet"
)

// starts counts in the hub's log how often its stages have started.
func (s *system) starts() (int, error) {
	said, err := os.ReadFile(s.fleet.Log(fleet.HubName))
	if err != nil {
		return 0, fmt.Errorf("reading what the hub says: %w", err)
	}
	return bytes.Count(said, []byte("Hub is ready")), nil
}

// awaitStart waits for one more start of the stages.
func (s *system) awaitStart(ctx context.Context, before int) error {
	for began := time.Now(); ; {
		now, err := s.starts()
		if err != nil || now > before {
			return err
		}
		if time.Since(began) > waitTimeout {
			return fmt.Errorf("the stages of the hub do not run after %s", waitTimeout)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// restart kills the hub with its API, and starts both.
func (s *system) restart(ctx context.Context, at size, out *sheet) error {
	starts, err := s.starts()
	if err != nil {
		return err
	}
	if err := s.fleet.Kill(ctx, fleet.HubName); err != nil {
		return err
	}
	if err := os.Remove(s.openFile()); err != nil {
		return fmt.Errorf("removing what the hub said that was killed: %w", err)
	}
	// The counters of processes and the API server restart with them.
	killed := moment{at: time.Now(), agents: s.agents.Traffic(), bench: s.asked.Counts()}
	took := func() float64 { return time.Since(killed.at).Seconds() }
	starting, sctx := errgroup.WithContext(ctx)
	starting.Go(func() error { return s.fleet.StartHub(sctx) })
	in, err := s.awaitOpen(sctx)
	if err != nil {
		return errors.Join(err, starting.Wait())
	}
	profiles, err := s.profile(ctx, "restart", at)
	if err != nil {
		return errors.Join(err, starting.Wait())
	}
	// The API answers long before the hub works, and the quiet until then means nothing.
	if err := s.awaitStart(sctx, starts); err != nil {
		return errors.Join(err, starting.Wait())
	}
	out.tell("until the hub works", took(), "s")
	if err := starting.Wait(); err != nil {
		return err
	}
	out.tell("until it takes a policy", took(), "s")
	if err := s.awaitAllReady(ctx, at); err != nil {
		return err
	}
	ready := took()
	out.tell("until all agents are seen and Ready", ready, "s")
	steady, err := s.awaitQuiet(ctx)
	if err != nil {
		return err
	}
	u := since(killed, steady)
	out.tell("until it is steady", u.seconds, "s")
	writes := s.tellStart(u, out)
	s.promised("restart", at, full(), "until all agents are seen and Ready", ready, mostUntilReady, "s")
	s.promised("restart", at, full(), "until it is steady", u.seconds, mostUntilSteady, "s")
	s.promised("restart", at, full(), "writes about applications", writes, 0, "")
	s.tellReturn(since(in, steady), u, at, out)
	return profiles.end(ctx, out)
}

// awaitAllReady waits until all agents are connected and Ready.
func (s *system) awaitAllReady(ctx context.Context, at size) error {
	if s.lines {
		if err := s.agents.AwaitLines(ctx); err != nil {
			return err
		}
	}
	var all []string
	for i := range at.agents {
		all = append(all, clusterName(i))
	}
	return s.awaitReady(ctx, all, metav1.ConditionTrue)
}

// tellStart reports the cost of the start as a whole, and returns the number of writes about applications.
func (s *system) tellStart(u used, out *sheet) (writes float64) {
	for _, name := range processNames() {
		out.tell(name+" CPU", u.cpu(name), "s")
	}
	out.tell("hub reads", float64(u.processes[hubProcess].ReadBytes)/1e6, "MB")
	for _, key := range slices.Sorted(maps.Keys(u.server.Requests)) {
		if concernsApplications(key) && isWrite(key) {
			writes += u.server.Requests[key]
			out.tell(key, u.server.Requests[key], "")
		}
	}
	out.tell("writes about applications", writes, "")
	out.tell("templates read", u.server.Requests["GET deployments"], "")
	return writes
}

// openFile returns the file that a hub writes when it lets agents in.
func (s *system) openFile() string {
	return filepath.Join(s.fleet.Dir, fleet.HubName, "run", "hub.open")
}

// awaitOpen waits until a starting hub lets agents in, and returns what the hub and its API have used until then. It
// asks at the private address, because the public one is not open before.
func (s *system) awaitOpen(ctx context.Context) (moment, error) {
	for began := time.Now(); ; {
		_, err := os.Stat(s.openFile())
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return moment{}, fmt.Errorf("looking whether the hub lets agents in: %w", err)
		}
		if time.Since(began) > waitTimeout {
			return moment{}, fmt.Errorf("the hub lets nobody in after %s", waitTimeout)
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return moment{}, err
		}
	}
	var err error
	if s.private, err = clientcmd.BuildConfigFromFlags("", filepath.Join(s.fleet.Dir, fleet.HubName, "kubeconfigs", "hub.kubeconfig")); err != nil {
		return moment{}, fmt.Errorf("reading how the hub reaches its API: %w", err)
	}
	return s.now(ctx)
}

// tellReturn reports the cost of the agents' return since they were let in, and the connections that each has opened
// since the hub was killed.
func (s *system) tellReturn(sinceIn, sinceKilled used, at size, out *sheet) {
	out.tell("connections of each agent since the hub was killed", float64(sinceKilled.agents.Connections)/float64(at.agents), "")
	out.account("once agents are let in: ", "agent", sinceIn, float64(at.agents))
}

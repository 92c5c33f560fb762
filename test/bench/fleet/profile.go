package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"

	"fairlead.dev/test/bench/meter"
	"fairlead.dev/test/fleet"
)

// profiling are the running profiles of a scene.
type profiling struct {
	*system

	name    string
	before  moment
	running map[string]*meter.Recording
	agents  *os.File
}

// profile starts profiles of hub, API server and agents, if wanted.
func (s *system) profile(ctx context.Context, scene string, at size) (*profiling, error) {
	if s.profiles == "" {
		return nil, nil //nolint:nilnil // None are made.
	}
	p := &profiling{system: s, name: fmt.Sprintf("%s-%d", scene, at.bindings), running: map[string]*meter.Recording{}}
	if err := os.MkdirAll(s.profiles, 0o755); err != nil {
		return nil, fmt.Errorf("making the directory of the profiles: %w", err)
	}
	api, err := meter.ProfiledAPI(s.private)
	if err != nil {
		return nil, err
	}
	if p.before, err = s.now(ctx); err != nil {
		return nil, err
	}
	if p.agents, err = os.Create(p.path("agents")); err != nil {
		return nil, fmt.Errorf("making a profile of the agents: %w", err)
	}
	if err := pprof.StartCPUProfile(p.agents); err != nil {
		return nil, errors.Join(fmt.Errorf("making a profile of the agents: %w", err), p.agents.Close())
	}
	p.running[hubProcess], p.running[apiProcess] = s.profiledHub().Record(ctx), api.Record(ctx)
	return p, nil
}

// end stops them, and reports the shares of the API server.
func (p *profiling) end(ctx context.Context, out *sheet) error {
	if p == nil {
		return nil
	}
	pprof.StopCPUProfile()
	if err := p.agents.Close(); err != nil {
		return fmt.Errorf("writing a profile of the agents: %w", err)
	}
	after, err := p.now(ctx)
	if err != nil {
		return err
	}
	for who, recording := range p.running {
		sum, err := recording.Stop()
		if err != nil {
			progress("no profile of %s: %v", who, err)
			continue
		}
		if err := meter.WriteProfile(p.path(who), sum); err != nil {
			return err
		}
		if who == apiProcess {
			out.shares(meter.Shares(sum), since(p.before, after))
		}
	}
	heap, err := p.profiledHub().Ask(ctx, "heap?gc=1")
	if err != nil {
		return fmt.Errorf("reading what the hub has in memory: %w", err)
	}
	return os.WriteFile(p.path(hubProcess+"-heap"), heap, 0o644)
}

func (p *profiling) path(who string) string {
	return filepath.Join(p.profiles, p.name+"-"+who+".pprof")
}

// shares reports what the API server spends on each write, by the categories of its profile.
func (s *sheet) shares(shares []meter.Share, u used) {
	each := 1000 * u.cpu(apiProcess) / max(u.writes(), 1)
	s.parts.put(s.column, "all of it", each, "ms")
	for _, share := range shares {
		s.parts.put(s.column, share.Of, each*share.Part, "ms")
	}
}

func (s *system) profiledHub() meter.Profiled {
	return meter.ProfiledHub(filepath.Join(s.fleet.Dir, fleet.HubName, "profiling.sock"))
}

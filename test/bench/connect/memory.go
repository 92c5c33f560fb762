package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"fairlead.dev/test/bench/meter"
	"fairlead.dev/test/fleet"
)

// Memory is calm when it changes by less than calmBytes in so many readings.
const (
	calmLooks = 3
	calmBytes = 1 * mB
)

// programs are the hub and its API server.
func (s *system) programs() (hub, api meter.Profiled, err error) {
	api, err = meter.ProfiledAPI(s.hub)
	return meter.ProfiledHub(filepath.Join(s.fleet.Dir, fleet.HubName, "profiling.sock")), api, err
}

// live returns the bytes in use by the hub and by its API server after garbage collection. Their resident memory
// depends on what they did before.
func (s *system) live(ctx context.Context) (hub, api float64, err error) {
	theHub, theAPI, err := s.programs()
	if err != nil {
		return 0, 0, err
	}
	if hub, err = live(ctx, theHub); err != nil {
		return 0, 0, fmt.Errorf("looking at the hub: %w", err)
	}
	if api, err = live(ctx, theAPI); err != nil {
		return 0, 0, fmt.Errorf("looking at the API server: %w", err)
	}
	return hub, api, nil
}

// live returns the memory in use after two garbage collections, because a sync.Pool keeps its contents over the first.
func live(ctx context.Context, p meter.Profiled) (float64, error) {
	if _, err := p.Live(ctx); err != nil {
		return 0, err
	}
	now, err := p.Live(ctx)
	return now.Heap + now.Stacks, err
}

// calm waits until the memory in use is stable: the API server takes a while to release agents that left.
func (s *system) calm(ctx context.Context) (hub, api float64, err error) {
	if hub, api, err = s.live(ctx); err != nil {
		return 0, 0, err
	}
	for same := 0; same < calmLooks; {
		if err := pause(ctx, settle); err != nil {
			return 0, 0, err
		}
		nowHub, nowAPI, err := s.live(ctx)
		if err != nil {
			return 0, 0, err
		}
		if same++; math.Abs(nowHub+nowAPI-hub-api) > calmBytes {
			same = 0
		}
		hub, api = nowHub, nowAPI
	}
	return hub, api, nil
}

// profiles writes heap profiles of the hub and its API server to files named after when.
func (s *system) profiles(ctx context.Context, when string) error {
	if s.options.profiles == "" {
		return nil
	}
	if err := os.MkdirAll(s.options.profiles, 0o750); err != nil {
		return fmt.Errorf("making a directory for profiles: %w", err)
	}
	hub, api, err := s.programs()
	if err != nil {
		return err
	}
	for name, program := range map[string]meter.Profiled{"hub": hub, "apiserver": api} {
		for _, kind := range []string{"heap", "goroutine"} {
			profile, err := program.Ask(ctx, kind)
			if err != nil {
				return fmt.Errorf("asking for a profile: %w", err)
			}
			if err := os.WriteFile(filepath.Join(s.options.profiles, name+"-"+when+"."+kind), profile, 0o600); err != nil {
				return fmt.Errorf("writing a profile: %w", err)
			}
		}
	}
	return nil
}

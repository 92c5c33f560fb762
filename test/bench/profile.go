package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"fairlead.dev/test/bench/meter"
)

// profiling is a running profile of an API server, and of the hub if it is the hub's API server.
type profiling struct {
	dir, name string
	server    *meter.Recording
	hub       *meter.Recording
}

// profile starts profiles, if wanted.
func (b *bench) profile(ctx context.Context, server api, name string) (*profiling, error) {
	if b.profiles == "" {
		return nil, nil //nolint:nilnil // None are made.
	}
	if err := os.MkdirAll(b.profiles, 0o755); err != nil {
		return nil, fmt.Errorf("making the directory of the profiles: %w", err)
	}
	of, err := meter.ProfiledAPI(server.config)
	if err != nil {
		return nil, err
	}
	p := &profiling{dir: b.profiles, name: name, server: of.Record(ctx)}
	if b.socket != "" && server.name == b.hub.name {
		p.hub = meter.ProfiledHub(b.socket).Record(ctx)
	}
	return p, nil
}

// end stops them, and returns the shares of the API server.
func (p *profiling) end() ([]meter.Share, error) {
	if p == nil {
		return nil, nil
	}
	var shares []meter.Share
	for who, recording := range map[string]*meter.Recording{"kube-apiserver": p.server, "hub": p.hub} {
		if recording == nil {
			continue
		}
		sum, err := recording.Stop()
		if err != nil {
			return nil, fmt.Errorf("profiling %s: %w", who, err)
		}
		if who == "kube-apiserver" {
			shares = meter.Shares(sum)
		}
		if err := meter.WriteProfile(filepath.Join(p.dir, p.name+"-"+who+".pprof"), sum); err != nil {
			return nil, err
		}
	}
	return shares, nil
}

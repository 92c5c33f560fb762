package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/rest"
)

// profileSeconds bounds a profile.
const profileSeconds = 300

// profile begins profiles of hub and API server, if they are wanted. The returned function ends them.
func (s *system) profile(ctx context.Context, name string) (func(), error) {
	if s.profiles == "" || name == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(s.profiles, 0o755); err != nil {
		return nil, fmt.Errorf("making the directory of the profiles: %w", err)
	}
	toAPI, err := rest.HTTPClientFor(s.config)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	toHub := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", s.profilingSocket())
	}}}
	var running sync.WaitGroup
	for who, from := range map[string]struct {
		client *http.Client
		url    string
	}{hubProcess: {toHub, "http://hub"}, apiProcess: {toAPI, s.config.Host}} {
		running.Go(func() {
			path := filepath.Join(s.profiles, name+"-"+who+".pprof")
			if err := fetch(ctx, from.client, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", from.url, s.profileLength()), path); err != nil {
				progress("no profile of %s: %v", who, err)
			}
		})
	}
	return running.Wait, nil
}

// profileLength is for how long a scene is profiled.
func (s *system) profileLength() int { return min(profileSeconds, max(1, int(s.idle.Seconds()))) }

func fetch(ctx context.Context, c *http.Client, url, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := c.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, response.Body); err != nil {
		return fmt.Errorf("writing a profile: %w", err)
	}
	return out.Close()
}

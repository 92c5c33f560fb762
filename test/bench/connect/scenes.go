package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"k8s.io/client-go/rest"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
)

// Targets.
const (
	barMedian, barTail   = 3, 10 // milliseconds more than without the line
	barThroughput        = 50    // percent of what passes without the line
	barLineHub           = 100   // kB of hub and API server for an idle line
	barLineAgent         = 1000  // kB of the agent for it
	barStreamsHub        = 100   // MB of the hub for all streams
	barStreamAgent       = 64    // kB of the agent for a stream
	barBack              = 60    // seconds until all lines are back
	barUnsent            = 65    // seconds until a body is refused that does not come
	barSilence           = 10    // minutes that a command may say nothing
	streamLines          = 10
	streamsOfALine       = 100
	streamsOfAUser       = 20
	settle               = 5 * time.Second
	restartTimeout       = 5 * time.Minute
	logPath              = "/api/v1/namespaces/default/pods/" + pod + "/log"
	kB, mB               = 1000.0, 1e6
	percent              = 100.0
	microsPerMillisecond = 1000.0
)

// latency measures requests for one object, alternating between both ways.
func (s *system) latency(ctx context.Context) error {
	const path = "/api/v1/namespaces/default/pods/" + pod
	took := map[*rest.Config][]time.Duration{}
	clients := map[*rest.Config]*http.Client{}
	for _, config := range []*rest.Config{s.direct, s.way} {
		c, err := rest.HTTPClientFor(config)
		if err != nil {
			return fmt.Errorf("making a client: %w", err)
		}
		clients[config] = c
	}
	// The cost of hundreds of joins is not part of the measurement.
	if _, _, err := s.calm(ctx); err != nil {
		return err
	}
	for i := range s.requests + 20 {
		for _, config := range []*rest.Config{s.direct, s.way} {
			began := time.Now()
			if _, err := get(ctx, clients[config], config.Host+path); err != nil {
				return err
			}
			if i >= 20 { // the first requests open connections
				took[config] = append(took[config], time.Since(began))
			}
		}
	}
	for _, q := range []struct {
		name string
		at   float64
		bar  float64
	}{{"p50", 0.5, barMedian}, {"p99", 0.99, barTail}} {
		without, through := quantile(took[s.direct], q.at), quantile(took[s.way], q.at)
		progress("a get, %s: %.2f ms without the line, %.2f ms through it", q.name, without, through)
		s.bars.Most("a get through the line takes longer, "+q.name, through-without, q.bar, "ms")
	}
	return nil
}

func get(ctx context.Context, c *http.Client, url string) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := c.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return 0, fmt.Errorf("%s answers %s: %s", url, response.Status, text)
	}
	return io.Copy(io.Discard, response.Body)
}

// quantile returns a quantile in milliseconds.
func quantile(took []time.Duration, at float64) float64 {
	sorted := slices.Sorted(slices.Values(took))
	return float64(sorted[min(len(sorted)-1, int(at*float64(len(sorted))))].Microseconds()) / microsPerMillisecond
}

// throughput reads a big log both ways.
func (s *system) throughput(ctx context.Context) error {
	script := fmt.Sprintf(`head -c %dM /dev/zero | tr '\0' x | fold -w 199 >> "$LOG"`, s.megabytes)
	if out, err := s.fleet.Kubectl(ctx, member, "exec", pod, "--", "sh", "-c", script); err != nil {
		return fmt.Errorf("writing a log: %w: %s", err, out)
	}
	speed := map[*rest.Config]float64{}
	for range 3 { // the best of three
		for _, config := range []*rest.Config{s.direct, s.way} {
			c, err := rest.HTTPClientFor(config)
			if err != nil {
				return fmt.Errorf("making a client: %w", err)
			}
			began := time.Now()
			n, err := get(ctx, c, config.Host+logPath)
			if err != nil {
				return err
			}
			speed[config] = max(speed[config], float64(n)/mB/time.Since(began).Seconds())
		}
	}
	progress("a log of %d MB: %.0f MB/s without the line, %.0f MB/s through it", s.megabytes, speed[s.direct], speed[s.way])
	s.bars.Least("a big log through the line, of its speed without", speed[s.way]/speed[s.direct]*percent, barThroughput, "%")
	return nil
}

// ownMemory returns the memory of this process in bytes.
func ownMemory() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// idle opens all lines and measures the memory of all processes.
func (s *system) idle(ctx context.Context) error {
	hubBefore, apiBefore, err := s.calm(ctx)
	if err != nil {
		return err
	}
	if err := s.profiles(ctx, "before"); err != nil {
		return err
	}
	hubHad, apiHad, err := s.resident()
	if err != nil {
		return err
	}
	own := ownMemory()
	for _, l := range s.lines {
		l.open(ctx)
	}
	if err := s.awaitLines(ctx); err != nil {
		return err
	}
	if err := pause(ctx, settle); err != nil {
		return err
	}
	hubHas, apiHas, err := s.resident()
	if err != nil {
		return err
	}
	hub, api, err := s.calm(ctx)
	if err != nil {
		return err
	}
	if err := s.profiles(ctx, "after"); err != nil {
		return err
	}
	n := float64(len(s.lines))
	progress("%d idle lines: %.1f kB each of the hub, %.1f kB of its API server; they have %.1f kB and %.1f kB more of the machine", len(s.lines),
		(hub-hubBefore)/n/kB, (api-apiBefore)/n/kB, float64(hubHas-hubHad)/n/kB, float64(apiHas-apiHad)/n/kB)
	s.bars.Most("memory of hub and API server for an idle line", (hub-hubBefore+api-apiBefore)/n/kB, barLineHub, "kB")
	s.bars.Most("memory of the agent for it", (ownMemory()-own)/n/kB, barLineAgent, "kB")
	return nil
}

func (s *system) awaitLines(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, restartTimeout)
	defer cancel()
	return eventually(ctx, "all lines", func(context.Context) error {
		down := 0
		for _, l := range s.lines {
			if !l.up.Load() {
				down++
			}
		}
		if down > 0 {
			return fmt.Errorf("%d of %d are not up", down, len(s.lines))
		}
		return nil
	})
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// streams follows as many logs as a hub allows.
func (s *system) streams(ctx context.Context) error {
	hubBefore, apiBefore, err := s.resident()
	if err != nil {
		return err
	}
	own := ownMemory()
	open, cancel := context.WithCancel(ctx)
	defer cancel()
	var g errgroup.Group
	var following errgroup.Group
	clients := make([]*http.Client, streamsOfALine/streamsOfAUser)
	for i := range clients {
		config := rest.CopyConfig(s.hub)
		config.Impersonate = rest.ImpersonationConfig{UserName: "operator-" + strconv.Itoa(i), Groups: []string{"system:masters"}}
		if clients[i], err = rest.HTTPClientFor(config); err != nil {
			return fmt.Errorf("making a client: %w", err)
		}
	}
	for i := range streamLines * streamsOfALine {
		url := s.hub.Host + contract.ClusterProxyPath(s.lines[i%streamLines].cluster) + logPath + "?follow=true"
		c := clients[i/streamLines/streamsOfAUser]
		g.Go(func() error {
			request, err := http.NewRequestWithContext(open, http.MethodGet, url, nil)
			if err != nil {
				return err
			}
			response, err := c.Do(request)
			if err != nil {
				return err
			}
			lines := bufio.NewReader(response.Body)
			first, err := lines.ReadBytes('\n')
			if err != nil || !bytes.HasPrefix(first, []byte("a line")) {
				_ = response.Body.Close()
				return fmt.Errorf("%s answers %s: %s (%v)", url, response.Status, first, err) //nolint:errorlint // it may be none
			}
			following.Go(func() error {
				_, _ = io.Copy(io.Discard, lines)
				return response.Body.Close()
			})
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := pause(ctx, settle); err != nil {
		return err
	}
	hub, api, err := s.resident()
	if err != nil {
		return err
	}
	n := float64(streamLines * streamsOfALine)
	progress("%g streams on %d lines: %.1f MB more of the hub, %.1f MB of its API server", n, streamLines, float64(hub-hubBefore)/mB, float64(api-apiBefore)/mB)
	s.bars.Most(fmt.Sprintf("memory of the hub for %g streams", n), float64(hub-hubBefore)/mB, barStreamsHub, "MB")
	s.bars.Most("memory of agent and client for a stream", (ownMemory()-own)/n/kB, barStreamAgent, "kB")
	cancel()
	return following.Wait()
}

// restart restarts the hub, and waits for all lines.
func (s *system) restart(ctx context.Context) error {
	if err := s.fleet.Stop(ctx, fleet.HubName); err != nil {
		return err
	}
	if err := s.fleet.StartHub(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := s.awaitLines(ctx); err != nil {
		return err
	}
	s.bars.Most(fmt.Sprintf("%d lines are back after the hub is", len(s.lines)), time.Since(began).Seconds(), barBack, "s")
	return nil
}

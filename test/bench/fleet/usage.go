package main

import (
	"context"
	"fmt"
	"time"

	"fairlead.dev/test/bench/meter"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/hollow"
	"fairlead.dev/test/requests"
)

// Processes that are measured.
const (
	hubProcess = "hub"
	apiProcess = "kube-apiserver"
	dbProcess  = "etcd"
)

func processNames() []string { return []string{hubProcess, apiProcess, dbProcess} }

// moment is the usage up to some time.
type moment struct {
	at        time.Time
	processes map[string]meter.Process
	server    meter.Server
	agents    hollow.Traffic
	// bench are the requests of this process without those of its agents.
	bench requests.Counts
}

// now reads all usage.
func (s *system) now(ctx context.Context) (moment, error) {
	m := moment{at: time.Now(), processes: map[string]meter.Process{}, agents: s.agents.Traffic(), bench: s.asked.Counts()}
	pids, err := s.pids()
	if err != nil {
		return m, err
	}
	for name, pid := range pids {
		if m.processes[name], err = meter.ReadProcess(name, pid); err != nil {
			return m, err
		}
	}
	s.hubPeak = max(s.hubPeak, m.processes[hubProcess].PeakBytes)
	m.server, err = meter.ReadServer(ctx, fleet.HubName, s.private)
	return m, err
}

// pids returns the processes of the hub and the components of its API.
func (s *system) pids() (map[string]int, error) {
	pid, err := s.fleet.PID(fleet.HubName)
	if err != nil || pid == 0 {
		return nil, fmt.Errorf("finding the hub: it is not running (%w)", err)
	}
	out := map[string]int{hubProcess: pid}
	tree, err := meter.ReadTree()
	if err != nil {
		return nil, err
	}
	for _, child := range tree.Below(pid) {
		switch component := child.Component(); component {
		case apiProcess, dbProcess:
			out[component] = child.PID
		}
	}
	return out, nil
}

const (
	waitTimeout = 30 * time.Minute
	// busy is the share of a core above which the hub does more than heartbeats.
	busy = 0.5
	// noise is the precision of processor times.
	noise = 0.05
)

// calm is how many consecutive readings must be idle. Agents sum up their pods' requests every ten seconds. A reading
// costs the API server 30 ms of processor time.
const (
	look = 2 * time.Second
	calm = 6
)

// awaitQuiet returns the last moment of activity: after it nothing was written and no template read for some readings.
func (s *system) awaitQuiet(ctx context.Context) (moment, error) {
	last, err := s.now(ctx)
	if err != nil {
		return last, err
	}
	for began, quiet, before := time.Now(), 0, last; quiet < calm; {
		if time.Since(began) > waitTimeout {
			return last, fmt.Errorf("it is not quiet after %s", waitTimeout)
		}
		if err := pause(ctx, look); err != nil {
			return last, err
		}
		now, err := s.now(ctx)
		if err != nil {
			return last, err
		}
		if u := since(before, now); u.writes() == 0 && u.server.Requests["GET deployments"] == 0 && u.cpu(hubProcess) < busy*u.seconds+noise {
			quiet++
		} else {
			quiet, last = 0, now
		}
		before = now
	}
	return last, nil
}

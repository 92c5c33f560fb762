package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"fairlead.dev/test/bench/meter"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/process"
)

// podsPerNode is a little below the pod capacity of a fleet's node.
const podsPerNode = 100

// ownFleet starts a fleet, and an API without controllers, and adds their kubeconfigs and processes to the options. The
// returned function stops everything and removes the data; it is never nil.
func ownFleet(ctx context.Context, o *options) (func(), error) {
	var hubArgs []string
	if o.profiles != "" {
		hubArgs = append(hubArgs, "--profiling")
	}
	f, err := fleet.New(fleet.Options{
		Bin: o.bin, Dir: o.dir, Clusters: o.clusters, Nodes: o.podsNeeded()/podsPerNode + 1, HubArgs: hubArgs, Report: progress,
	})
	if err != nil {
		return func() {}, err
	}
	if err := os.RemoveAll(f.Dir); err != nil {
		return func() {}, fmt.Errorf("removing what an earlier run left: %w", err)
	}
	var bare *process.Process
	down := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if bare != nil {
			bare.Kill()
		}
		if err := f.Down(ctx); err != nil {
			progress("%v", err)
			return
		}
		if err := process.Remove(f.Dir); err != nil {
			progress("%v", err)
		}
	}
	if err := f.Up(ctx); err != nil {
		return down, err
	}
	o.hub, o.members = f.Kubeconfig(fleet.HubName), map[string]string{}
	if o.profiles != "" {
		o.socket = filepath.Join(f.Dir, fleet.HubName, "profiling.sock")
	}
	for _, member := range f.Members() {
		o.members[member] = f.Kubeconfig(member)
	}
	if bare, err = startBare(ctx, f, o); err != nil {
		return down, err
	}
	return down, findProcesses(f, o, bare)
}

// startBare starts a hub's API with the CRDs and no Fairlead controllers. Like that of the hub, its database syncs to
// disk.
func startBare(ctx context.Context, f *fleet.Fleet, o *options) (*process.Process, error) {
	const name = "floor"
	o.floor = f.Kubeconfig(name)
	args := []string{
		"--profile", "hub", "--data-dir", filepath.Join(f.Dir, name), "--secure-port", "0", "--kubeconfig", o.floor, "--context", name,
	}
	if o.profiles != "" {
		args = append(args, "--profiling")
	}
	p, err := process.Start(process.Spec{Executable: f.Program("controlplane"), Log: f.Log(name), Args: args})
	if err != nil {
		return nil, err
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		if p.Ended() {
			return false, fmt.Errorf("the API for the floor stopped by itself\n%s", process.Tail(f.Log(name)))
		}
		_, err := f.Kubectl(ctx, name, "get", "--raw", "/readyz")
		return err == nil, nil
	})
	if err != nil {
		return p, fmt.Errorf("starting the API for the floor: %w", err)
	}
	crds := filepath.Join("manifests", "crds")
	if _, err := f.Kubectl(ctx, name, "apply", "--server-side", "-f", crds); err != nil {
		return p, err
	}
	_, err = f.Kubectl(ctx, name, "wait", "--for=condition=Established", "--timeout=60s", "-f", crds)
	return p, err
}

// findProcesses finds all processes of the fleet, including the components of each API.
func findProcesses(f *fleet.Fleet, o *options, bare *process.Process) error {
	if o.processes == nil {
		o.processes = map[string]string{}
	}
	names := []string{fleet.HubName}
	for _, member := range f.Members() {
		names = append(names, member, fleet.AgentName(member))
	}
	pids := map[string]int{"floor": bare.PID()}
	for _, name := range names {
		pid, err := f.PID(name)
		if err != nil || pid == 0 {
			return fmt.Errorf("finding the process of %q: it is not running (%w)", name, err)
		}
		pids[name] = pid
		if name == fleet.HubName || strings.HasPrefix(name, fleet.AgentName("")) {
			o.processes[name] = strconv.Itoa(pid)
		}
	}
	children, err := meter.ReadTree()
	if err != nil {
		return err
	}
	for name, pid := range pids {
		for _, child := range children.Below(pid) {
			switch component := child.Component(); component {
			case "kube-apiserver", "etcd":
				o.processes[name+"/"+component] = strconv.Itoa(child.PID)
			}
		}
	}
	return nil
}

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"fairlead.dev/test/fleet"
)

// show prints what a user wants to see, each part with its command, and how to go on.
func (d *demo) show(ctx context.Context, f *fleet.Fleet, examples bool) error {
	if err := d.command(ctx, f, fleet.HubName, "get", "clusters"); err != nil {
		return err
	}
	if examples {
		last := f.Members()[min(2, d.clusters)-1]
		for _, c := range [][]string{
			{fleet.HubName, "get", "deployment", "nginx"},
			{last, "get", "deployments,pods"},
			{fleet.HubName, "get", "resourcebindings", "-n", "shop"},
			{fleet.HubName, "get", "deployments,statefulsets", "-n", "shop"},
		} {
			if err := d.command(ctx, f, c[0], c[1:]...); err != nil {
				return err
			}
		}
		if d.clusters >= 2 {
			d.printf("nginx is READY 3/1: its template asks for one replica; edge-1 runs one, and an override policy\nmakes it two on edge-2.\n")
		}
	}
	d.printf(`
Everything is left running. Look around:
  export KUBECONFIG=%s
  %[2]s get clusters
  %[2]s get works -A
  %[2]s scale deployment nginx --replicas 2
  %[2]s --kubeconfig %[3]s get deployments,pods -A
Or through the hub, once the owner of the cluster lets you in (a shell there is one of this machine):
  %[4]s operators user:admin --may exec --kubeconfig %[3]s
  %[2]s --kubeconfig %[3]s create clusterrolebinding operators --clusterrole cluster-admin --user fairlead:admin
  %[5]s kubeconfig edge-1 --kubeconfig %[6]s -o through.kubeconfig
  %[2]s --kubeconfig through.kubeconfig get pods -A
`, strings.Join(d.kubeconfigs(f), ":"), d.relative(f.Program("kubectl")), d.relative(f.Kubeconfig(f.Members()[0])),
		d.relative(f.Program("agent")), d.relative(f.Program("hub")), d.relative(f.Kubeconfig(fleet.HubName)))
	if !examples {
		d.printf("  %s apply --recursive -f %s\n", d.relative(f.Program("kubectl")), d.examples)
	}
	d.printf("The contexts are hub and edge-1 … edge-%d; logs are in %s/logs. `make demo-down` stops and cleans up.\n", d.clusters, d.dir)
	return nil
}

// kubeconfigs returns the files for $KUBECONFIG; the context of the first is the current one.
func (d *demo) kubeconfigs(f *fleet.Fleet) []string {
	files := []string{f.Kubeconfig(fleet.HubName)}
	for _, member := range f.Members() {
		files = append(files, f.Kubeconfig(member))
	}
	for i := range files {
		files[i] = d.relative(files[i])
	}
	return files
}

// command prints a kubectl command and its output.
func (d *demo) command(ctx context.Context, f *fleet.Fleet, name string, args ...string) error {
	out, err := f.Kubectl(ctx, name, args...)
	if err != nil {
		return err
	}
	d.printf("\n$ %s --kubeconfig %s %s\n%s",
		d.relative(f.Program("kubectl")), d.relative(f.Kubeconfig(name)), strings.Join(args, " "), out)
	return nil
}

// relative returns a path relative to the working directory, as a user would type it.
func (d *demo) relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(wd, path); err == nil && !strings.HasPrefix(short, "..") {
		return short
	}
	return path
}

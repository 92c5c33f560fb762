package kubelet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"fairlead.dev/hub/machinery/controlplane/process"
)

// pods are the simulated pods.
type pods struct {
	dir    string
	api    kubernetes.Interface
	clock  clock.WithTicker
	forker process.Forker
	// times has the times of the lines of each log, by the log's path.
	times sync.Map
}

// container is the directory of a simulated container.
type container struct {
	// dir is the working directory of exec, and log the container's log file.
	dir, log string
}

// container returns a container, and creates its directory and log on first use. The name of the pod is NAMESPACE/NAME.
func (p *pods) container(pod, name string) (container, error) {
	dir := filepath.Join(p.dir, filepath.FromSlash(pod), name)
	if rel, err := filepath.Rel(p.dir, dir); err != nil || strings.Count(rel, string(filepath.Separator)) != 2 || !filepath.IsLocal(rel) {
		return container{}, fmt.Errorf("container %q of pod %q is no name of a container", name, pod)
	}
	c := container{dir: dir, log: dir + ".log"}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return c, fmt.Errorf("making the directory of container %q: %w", name, err)
	}
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if os.IsExist(err) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("making the log of container %q: %w", name, err)
	}
	_, err = fmt.Fprintf(log, "%s: container %s started\n", pod, name)
	if closed := log.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return c, fmt.Errorf("writing the log of container %q: %w", name, err)
	}
	if _, err := p.timesOf(c).catchUp(); err != nil {
		return c, fmt.Errorf("noting when container %q started: %w", name, err)
	}
	return c, nil
}

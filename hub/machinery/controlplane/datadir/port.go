package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
)

// Ports are chosen below Linux's range for outgoing connections (32768 and up) and below the node ports (30000 and up):
// one of those would often be in use when a stopped control plane starts again.
const (
	firstPort = 20000
	lastPort  = 29999
	attempts  = 100
)

// Port returns the port for the API server: the requested one, or for 0 the port of the last start, or at the first
// start one that probe accepts. It stores the result for the next start.
func (d *Dir) Port(wanted int, probe func(port int) error) (int, error) {
	path := d.portFile()
	last, err := readPort(path)
	if err != nil {
		return 0, err
	}
	port := wanted
	if port == 0 {
		port = last
	}
	for i := 0; port == 0; i++ {
		candidate := firstPort + rand.IntN(lastPort-firstPort+1) //nolint:gosec // a port is no secret
		err := probe(candidate)
		if err == nil {
			port = candidate
		} else if i == attempts {
			return 0, fmt.Errorf("finding a free port: %w", err)
		}
	}
	if port == last {
		return port, nil
	}
	return port, atomicfile.Write(path, []byte(strconv.Itoa(port)+"\n"))
}

func (d *Dir) portFile() string { return filepath.Join(d.root, "port") }

// readPort returns the stored port; 0 if there is none.
func readPort(path string) (int, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the port of the last start: %w", err)
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("%q holds no port; delete it to have a new one chosen", path)
	}
	return port, nil
}

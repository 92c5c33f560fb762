package memory

import (
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
)

func files(content map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range content {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func TestTheSmallestBoundOfTheControlGroupsCounts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files map[string]string
		want  int64 // 0 for no bound
	}{
		"a container":             {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "134217728\n"}, 128 << 20},
		"a container, no bound":   {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		"a unit of systemd":       {map[string]string{"proc/self/cgroup": "0::/system.slice/agent.service\n", "sys/fs/cgroup/system.slice/agent.service/memory.max": "67108864\n"}, 64 << 20},
		"a slice around a unit":   {map[string]string{"proc/self/cgroup": "0::/small.slice/agent.service\n", "sys/fs/cgroup/small.slice/memory.max": "100\n", "sys/fs/cgroup/small.slice/agent.service/memory.max": "200\n"}, 100},
		"version 1":               {map[string]string{"proc/self/cgroup": "5:cpu,memory:/kubepods/x\n3:pids:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "134217728\n"}, 128 << 20},
		"version 1, no bound":     {map[string]string{"proc/self/cgroup": "5:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"both versions":           {map[string]string{"proc/self/cgroup": "1:memory:/\n0::/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "200\n", "sys/fs/cgroup/memory.max": "max\n"}, 200},
		"no control groups":       {nil, 0},
		"a file that says no sum": {map[string]string{"proc/self/cgroup": "nonsense\n0::/\n", "sys/fs/cgroup/memory.max": "\n"}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, bounded := CgroupLimit(files(tt.files))
			g.Expect(bounded).To(Equal(tt.want > 0))
			if bounded {
				g.Expect(got).To(Equal(tt.want))
			}
		})
	}
}

// TestBound sets the memory limit of the process, and restores it.
func TestBound(t *testing.T) { //nolint:paralleltest // See above.
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	root := files(map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000000000\n"})
	g := NewWithT(t)

	debug.SetMemoryLimit(math.MaxInt64)
	g.Expect(Bound("", 0.5, files(nil))).To(Equal(int64(math.MaxInt64)), "nothing bounds it")
	g.Expect(Bound("", 0.5, root)).To(Equal(int64(450_000_000)))
	g.Expect(Bound("512Mi", 0.5, root)).To(Equal(int64(512<<20)), "what is asked for counts first")
	g.Expect(debug.SetMemoryLimit(-1)).To(Equal(int64(512 << 20)))

	debug.SetMemoryLimit(256 << 20) // as Go does by $GOMEMLIMIT
	g.Expect(Bound("", 0.5, root)).To(Equal(int64(256 << 20)))
	for _, asked := range []string{"much", "-1Mi", "0"} {
		_, err := Bound(asked, 0.5, root)
		g.Expect(err).To(MatchError(ContainSubstring("is no amount of memory")), asked)
	}
}

func TestAvailableIsTheMachinesMemoryOrLess(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal:       16384 kB\nMemFree:         1024 kB\n"
	for name, tt := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"a machine":              {map[string]string{"proc/meminfo": meminfo}, 16 << 20},
		"a container on it":      {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1048576\n"}, 1 << 20},
		"one with no bound":      {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 16 << 20},
		"a system without /proc": {nil, 0},
		"one that says nonsense": {map[string]string{"proc/meminfo": "MemTotal: much\n"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Available(files(tt.files))).To(Equal(tt.want))
		})
	}
}

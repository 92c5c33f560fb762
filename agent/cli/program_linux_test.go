package cli

import (
	"os"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// ofFiles returns how much of the resident memory is mapped from files, in kB.
func ofFiles(g Gomega) int {
	status, err := os.ReadFile("/proc/self/status")
	g.Expect(err).NotTo(HaveOccurred())
	_, rest, found := strings.Cut(string(status), "RssFile:")
	g.Expect(found).To(BeTrue())
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	g.Expect(err).NotTo(HaveOccurred())
	return n
}

func TestReleaseProgram(t *testing.T) {
	g := NewWithT(t)
	before := ofFiles(g)
	released, err := releaseProgram()
	after := ofFiles(g)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(released).To(BeNumerically(">", 1<<20))
	g.Expect(after).To(BeNumerically("<", before*3/4), "what is not used is not mapped any more")
	// The program still runs: pages are read back on demand.
	g.Expect(strings.Fields(strings.Repeat("on ", 1000))).To(HaveLen(1000))
}

func TestMappings(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(mappings(`00400000-015cc000 r-xp 00000000 fe:00 42 /opt/fair lead/agent
Size:              18224 kB
Private_Dirty:         8 kB
Anonymous:             0 kB
015cc000-02754000 r--p 011cc000 fe:00 42 /opt/fair lead/agent
Private_Dirty:         0 kB
Anonymous:             4 kB
02754000-02800000 rw-p 02354000 fe:00 42 /opt/fair lead/agent
Anonymous:           100 kB
c000000000-c000400000 rw-p 00000000 00:00 0
VmFlags: rd wr mr mw me ac sd
`)).To(Equal([]mapping{
		{from: 0x400000, to: 0x15cc000, path: "/opt/fair lead/agent"},
		{from: 0x15cc000, to: 0x2754000, path: "/opt/fair lead/agent", changed: true},
		{from: 0x2754000, to: 0x2800000, path: "/opt/fair lead/agent", writable: true, changed: true},
		{from: 0xc000000000, to: 0xc000400000, writable: true},
	}))
}

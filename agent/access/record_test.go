package access

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestARequestThatCannotBeRecordedIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := newMember(t, func(http.ResponseWriter, *http.Request) {})
	s := newServed(t, m)
	g.Expect(os.WriteFile(filepath.Join(s.dir, "access"), nil, 0o600)).To(Succeed()) // where the directory would be
	for method, want := range map[string]int{http.MethodGet: http.StatusOK, http.MethodDelete: http.StatusServiceUnavailable} {
		code, body, _ := s.ask(t, method, "/api/v1/namespaces/shop/pods/a", nil)
		g.Expect(code).To(Equal(want), body)
	}
	code, body, _ := s.ask(t, http.MethodGet, "/api/v1/namespaces/shop/pods/a/exec", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}})
	g.Expect(code).To(Equal(http.StatusServiceUnavailable))
	g.Expect(body).To(ContainSubstring("cannot be recorded"))
}

func TestRecordsAreBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &record{dir: t.TempDir(), name: "reads", limit: 1000}
	for i := range 200 {
		g.Expect(r.write(entry{Object: fmt.Sprint("pods ", i)}, false)).To(Succeed())
	}
	g.Expect(r.stop()).To(Succeed())
	files, err := os.ReadDir(r.dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(kept()))
	for _, file := range files {
		info, err := file.Info()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(info.Size()).To(BeNumerically("<=", 1000))
	}
	newest, err := os.ReadFile(r.path(0))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(newest)).To(ContainSubstring(`"pods 199"`))
}

func kept() int { return 1 + keptRecords }

func TestNobodyCrowdsOutTheRecordOfWhatWasDone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := newMember(t, func(http.ResponseWriter, *http.Request) {})
	s := newServed(t, m)
	// Self-reviews of access change nothing, and are no changes for the record.
	code, body, _ := s.ask(t, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", nil)
	g.Expect(code).To(Equal(http.StatusOK), body)
	g.Eventually(func() []string { return s.records("reads") }).WithTimeout(waitTimeout).Should(HaveLen(1))
	g.Expect(s.records("changes")).To(BeEmpty())

	// Request IDs, groups and paths of any length must not make a line of the record long.
	long := strings.Repeat("<", 4<<10)
	groups := append([]string{"ops"}, strings.Split(strings.Repeat("g,", 1000), ",")...)
	code, body, _ = s.ask(t, http.MethodDelete, "/api/v1/namespaces/shop/pods/"+long[:2<<10], http.Header{"Audit-Id": {long}, "Fairlead-Request": {long}, "Fairlead-Group": groups})
	g.Expect(code).To(Equal(http.StatusOK), body)
	g.Eventually(func() []string { return s.records("changes") }).WithTimeout(waitTimeout).Should(HaveLen(2))
	for _, line := range s.records("changes") {
		g.Expect(len(line)).To(BeNumerically("<", 8<<10))
		g.Expect(line).To(ContainSubstring(`"groups":["ops",`))
	}
	// The names that objects may have are recorded whole.
	name := strings.Repeat("a", 253)
	code, body, _ = s.ask(t, http.MethodDelete, "/api/v1/namespaces/shop/pods/"+name, nil)
	g.Expect(code).To(Equal(http.StatusOK), body)
	g.Eventually(func() []string { return s.records("changes") }).WithTimeout(waitTimeout).Should(ContainElement(ContainSubstring(`"object":"pods shop/` + name + `"`)))
}

// TestHalfALineOfAnAgentThatWasKilledStandsAlone checks that a partial line, left by an agent that was killed while
// writing, does not corrupt the following ones.
func TestHalfALineOfAnAgentThatWasKilledStandsAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &record{dir: t.TempDir(), name: "changes", limit: maxRecord}
	g.Expect(r.write(entry{Object: "pods a"}, true)).To(Succeed())
	g.Expect(r.stop()).To(Succeed())
	written, err := os.ReadFile(r.path(0))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(r.path(0), written[:len(written)/2], 0o600)).To(Succeed())
	r = &record{dir: r.dir, name: r.name, limit: r.limit}
	g.Expect(r.write(entry{Object: "pods b"}, true)).To(Succeed())
	g.Expect(r.stop()).To(Succeed())
	written, err = os.ReadFile(r.path(0))
	g.Expect(err).NotTo(HaveOccurred())
	lines := strings.Split(strings.TrimSuffix(string(written), "\n"), "\n")
	g.Expect(lines).To(HaveLen(2))
	var last entry
	g.Expect(json.Unmarshal([]byte(lines[1]), &last)).To(Succeed())
	g.Expect(last.Object).To(Equal("pods b"))
}

func TestARequestOverALimitIsRecorded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServed(t, newMember(t, func(http.ResponseWriter, *http.Request) {}))
	for range maxRequests {
		g.Expect(s.streams.add(&stream{})).To(BeEmpty())
	}
	code, _, _ := s.ask(t, http.MethodDelete, "/api/v1/namespaces/shop/pods/a", nil)
	g.Expect(code).To(Equal(http.StatusTooManyRequests))
	g.Eventually(func() []string { return s.records("reads") }).WithTimeout(waitTimeout).Should(ConsistOf(And(ContainSubstring(`"status":429`), ContainSubstring("100 requests"))))
}

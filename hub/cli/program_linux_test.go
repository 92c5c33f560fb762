package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// callsEnv names the program that TestCallAProgram runs, as a hub does for a backup.
const callsEnv = "FAIRLEAD_TEST_CALLS"

// TestCallAProgram is the hub that TestAProgramEndsWithAHubThatIsKilled kills.
func TestCallAProgram(t *testing.T) {
	binary := os.Getenv(callsEnv)
	if binary == "" {
		t.Skip("another test starts this one")
	}
	_, err := storeFlags{controlplane: binary}.call(t.Context(), stream{}, "backup")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

func TestAProgramEndsWithAHubThatIsKilled(t *testing.T) {
	t.Parallel()
	g, dir := NewWithT(t), t.TempDir()
	program, pid := filepath.Join(dir, "controlplane"), filepath.Join(dir, "pid")
	g.Expect(os.WriteFile(program, []byte("#!/bin/sh\necho $$ >"+pid+".new && mv "+pid+".new "+pid+"\nexec sleep 600\n"), 0o700)).To(Succeed())
	hub := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCallAProgram$")
	hub.Env = append(os.Environ(), callsEnv+"="+program)
	g.Expect(hub.Start()).To(Succeed())
	var id string
	g.Eventually(func(g Gomega) {
		data, err := os.ReadFile(pid)
		g.Expect(err).NotTo(HaveOccurred())
		id = strings.TrimSpace(string(data))
	}).WithTimeout(waitTimeout).Should(Succeed())

	g.Expect(hub.Process.Kill()).To(Succeed())
	g.Expect(hub.Wait()).NotTo(Succeed())

	g.Eventually(func() bool { // it may be a zombie
		stat, err := os.ReadFile(filepath.Join("/proc", id, "stat"))
		return err != nil || bytes.Contains(stat, []byte(") Z "))
	}).WithTimeout(waitTimeout).Should(BeTrue())
}

package roots_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/roots"
)

// counted names the environment variable that makes this test, run as a process of its own, print the number of
// authorities that it trusts. It needs a process since Go reads the machine's only once.
const counted = "FAIRLEAD_TEST_ROOTS"

func TestMain(m *testing.M) {
	when := os.Getenv(counted)
	if when == "" {
		os.Exit(m.Run())
	}
	if when == "late" { // something else has loaded the machine's pool before
		_, _ = x509.SystemCertPool()
	}
	if when != "never" {
		roots.Fallback()
		roots.Fallback()
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(len(pool.Subjects())) //nolint:staticcheck // that they are those of the system is what is asked
	os.Exit(0)
}

func TestTheAuthoritiesOfThePublicWebHoldWhereTheMachineHasNone(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	own := filepath.Join(t.TempDir(), "own.crt")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	NewWithT(t).Expect(os.WriteFile(own, block, 0o600)).To(Succeed())
	const none = "/nonexistent"
	for name, tc := range map[string]struct {
		when, file, mode string
		want             func(t *testing.T, n int)
	}{
		"a machine without any, which nobody made up for":   {"never", none, "", exactly(0)},
		"a machine without any":                             {"early", none, "", many},
		"a machine of which that was found before":          {"late", none, "", many},
		"a machine without any, in FIPS 140 mode":           {"early", none, "fips140=on", many},
		"a machine without any, with FIPS 140 alone":        {"early", none, "fips140=only", many},
		"a machine that has one, which holds alone":         {"early", own, "", exactly(1)},
		"a machine that has one, which was looked at first": {"late", own, "", exactly(1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			program, err := os.Executable()
			g.Expect(err).NotTo(HaveOccurred())
			cmd := exec.CommandContext(t.Context(), program)
			cmd.Env = []string{counted + "=" + tc.when, "SSL_CERT_FILE=" + tc.file, "SSL_CERT_DIR=" + none, "GODEBUG=" + tc.mode}
			out, err := cmd.CombinedOutput()
			g.Expect(err).NotTo(HaveOccurred(), string(out))
			var n int
			_, err = fmt.Sscan(strings.TrimSpace(string(out)), &n)
			g.Expect(err).NotTo(HaveOccurred(), string(out))
			tc.want(t, n)
		})
	}
}

func exactly(want int) func(*testing.T, int) {
	return func(t *testing.T, n int) {
		t.Helper()
		NewWithT(t).Expect(n).To(Equal(want))
	}
}

func many(t *testing.T, n int) {
	t.Helper()
	NewWithT(t).Expect(n).To(BeNumerically(">", 50))
}

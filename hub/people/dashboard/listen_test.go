package dashboard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// late is a clock with which the time limit of a response expires soon after it is set.
type late struct{ clock.RealClock }

// Now implements clock.PassiveClock.
func (l late) Now() time.Time { return l.RealClock.Now().Add(time.Second - answerTimeout) }

// ofNoHub returns a dashboard of a hub that does not answer.
func ofNoHub(t *testing.T, c clock.WithTicker) *Server {
	t.Helper()
	s, err := New(Deps{
		Config: &rest.Config{Host: "127.0.0.1:1"}, Mapper: meta.NewDefaultRESTMapper(nil), Cache: struct{ cache.Cache }{}, Clock: c, Log: logr.Discard(),
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return s
}

// listening serves a dashboard, and returns its address.
func listening(t *testing.T, s *Server) string {
	t.Helper()
	g := NewWithT(t)
	other := httptest.NewTLSServer(nil)
	pair := other.TLS.Certificates[0]
	other.Close()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	g.Expect(err).NotTo(HaveOccurred())
	files := &TLS{CertFile: filepath.Join(t.TempDir(), "tls.crt"), KeyFile: filepath.Join(t.TempDir(), "tls.key")}
	for name, block := range map[string]*pem.Block{files.CertFile: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, files.KeyFile: {Type: "PRIVATE KEY", Bytes: key}} {
		g.Expect(os.WriteFile(name, pem.EncodeToMemory(block), 0o600)).To(Succeed())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, files) }()
	t.Cleanup(func() {
		cancel()
		g.Expect(<-done).To(Succeed())
	})
	return l.Addr().String()
}

// http2Frame returns an HTTP/2 frame.
func http2Frame(kind, flags byte, stream uint32, payload string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	return string(binary.BigEndian.AppendUint32(append(head, flags), stream)) + payload
}

// TestAClientThatReadsNothingIsClosed has somebody without a credential ask for more and more, and take none of it.
func TestAClientThatReadsNothingIsClosed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	address := listening(t, ofNoHub(t, late{}))
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}).DialContext(t.Context(), "tcp", address)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = conn.Close() }()
	g.Expect(conn.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
	const (
		headers, reset, settings = 1, 3, 4
		endStream, endHeaders    = 1, 4
		noWindow                 = "\x00\x04\x00\x00\x00\x00" // SETTINGS_INITIAL_WINDOW_SIZE of 0
		get, https               = "\x82", "\x87"
		asked                    = 20
	)
	path := "/static/style.css"
	request := get + https + "\x04" + string(rune(len(path))) + path + "\x01" + string(rune(len(address))) + address
	send := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + http2Frame(settings, 0, 0, noWindow)
	for i := range uint32(asked) {
		send += http2Frame(headers, endStream|endHeaders, 2*i+1, request)
	}
	_, err = io.WriteString(conn, send)
	g.Expect(err).NotTo(HaveOccurred())
	for ended := 0; ended < asked; {
		head := make([]byte, 9)
		_, err := io.ReadFull(conn, head)
		g.Expect(err).NotTo(HaveOccurred(), "%d streams were ended", ended)
		_, err = io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head)>>8))
		g.Expect(err).NotTo(HaveOccurred())
		if head[3] == reset {
			ended++
		}
	}
	g.Eventually(func() bool {
		stacks := make([]byte, 8<<20)
		return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), ").serveAsset(")
	}, time.Minute, 10*time.Millisecond).Should(BeFalse(), "nobody goes on writing")
}

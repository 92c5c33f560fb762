package webhook_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter/webhook"
)

// mill is an object that webhooks are asked about.
func mill() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "farm.example.com/v1", "kind": "Mill",
		"metadata": map[string]any{"name": "old", "namespace": "farm"},
		"spec":     map[string]any{"stones": int64(2)},
	}}
}

// server is a webhook that returns a response, whose uid it fills in, and records the last request.
type server struct {
	*httptest.Server

	request configv1alpha1.ResourceInterpreterRequest
	path    string
	query   string

	accepted atomic.Int32
}

func serve(t *testing.T, reply func(w http.ResponseWriter, uid string)) *server {
	t.Helper()
	return serveOver(t, true, reply)
}

func serveOver(t *testing.T, http2 bool, reply func(w http.ResponseWriter, uid string)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var question configv1alpha1.ResourceInterpreterContext
		if err := json.Unmarshal(body, &question); err != nil || question.Request == nil {
			http.Error(w, "not a question", http.StatusBadRequest)
			return
		}
		s.request, s.path, s.query = *question.Request, r.URL.Path, r.URL.RawQuery
		reply(w, string(question.Request.UID))
	}))
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate(t)}}
	s.EnableHTTP2 = http2
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.accepted.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// certificate returns a certificate for a Service and for the address of a server.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"mills.farm.svc"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// saying answers with the fields of a successful response.
func saying(fields string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, uid string) {
		_, _ = fmt.Fprintf(w, `{"response":{"uid":%q,"successful":true%s}}`, uid, fields)
	}
}

func (s *server) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// hook registers the server for all operations of Mills.
func (s *server) hook() configv1alpha1.ResourceInterpreterWebhook {
	return configv1alpha1.ResourceInterpreterWebhook{
		Name:         "mills.example.com",
		ClientConfig: configv1alpha1.WebhookClientConfig{URL: new(s.URL + "/ask"), CABundle: s.ca()},
		Rules: []configv1alpha1.RuleWithOperations{{
			Operations: []configv1alpha1.InterpreterOperation{configv1alpha1.InterpreterOperationAll},
			Rule:       configv1alpha1.Rule{APIGroups: []string{"farm.example.com"}, APIVersions: []string{"*"}, Kinds: []string{"Mill"}},
		}},
		InterpreterContextVersions: []string{"v1alpha1"},
	}
}

func asking(hook configv1alpha1.ResourceInterpreterWebhook, services client.Reader) *webhook.Interpreter {
	return webhook.New([]configv1alpha1.ResourceInterpreterWebhookConfiguration{{
		ObjectMeta: metav1.ObjectMeta{Name: "farm"}, Webhooks: []configv1alpha1.ResourceInterpreterWebhook{hook},
	}}, services)
}

// connections returns how many were made.
func (s *server) connections() int { return int(s.accepted.Load()) }

package connect

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
)

// The answers of a small metrics API. Their spaces and key order differ from those of an API server.
const (
	metricsResources = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"metrics.k8s.io/v1beta1","resources":[` +
		`{"name":"pods","singularName":"","namespaced":true,"kind":"PodMetrics","verbs":["get","list"]}]}`
	podMetrics = `{ "items":[ {"containers":[{"usage":{"memory":"64Mi", "cpu":"123m"},"name":"web"}], "window":"15s","timestamp":"2026-11-23T08:00:00Z",` +
		`"metadata":{"namespace":"default","name":"web"}}],  "apiVersion":"metrics.k8s.io/v1beta1", "kind":"PodMetricsList", "metadata":{} }`
)

// metricsAPI makes the member forward metrics.k8s.io to a server of this test.
const metricsAPI = `
apiVersion: v1
kind: Service
metadata: {name: metrics, namespace: kube-system}
spec: {type: ExternalName, externalName: 127.0.0.1}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {namespace: kube-system, name: metrics, port: %s}
`

func TestTopWorksWhereTheMemberHasMetrics(t *testing.T) {
	w := up(t)
	var asked atomic.Pointer[http.Request]
	mux := http.NewServeMux()
	mux.HandleFunc("/apis/metrics.k8s.io/v1beta1", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, metricsResources)
	})
	mux.HandleFunc("/apis/metrics.k8s.io/v1beta1/namespaces/default/pods", func(rw http.ResponseWriter, r *http.Request) {
		asked.Store(r)
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, podMetrics)
	})
	server := httptest.NewTLSServer(mux)
	defer server.Close()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL, "https://"))
	w.G.Expect(err).NotTo(HaveOccurred())
	w.applyTo(open, fmt.Sprintf(metricsAPI, port))
	defer w.MustKubectl(open, "delete", "apiservice/v1beta1.metrics.k8s.io", "service/metrics", "-n", "kube-system")
	w.MustKubectl(open, "wait", "--for=condition=Available", "apiservice/v1beta1.metrics.k8s.io", "--timeout=120s")

	config := w.config("alice")
	alice, err := rest.HTTPClientFor(config)
	w.G.Expect(err).NotTo(HaveOccurred())
	w.Eventually(func(g Gomega) { // an API server reports a group as available before it forwards the requests and discovers the kinds
		response, err := alice.Get(config.Host + "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=a%3Db%2Cc&limit=5")
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.StatusCode).To(Equal(http.StatusOK), string(body))
		g.Expect(string(body)).To(Equal(podMetrics), "byte for byte")
	})
	w.G.Expect(asked.Load().URL.Query()).To(And(HaveKeyWithValue("labelSelector", []string{"a=b,c"}), HaveKeyWithValue("limit", []string{"5"})))
	w.G.Expect(asked.Load().Header.Get("X-Remote-User")).To(Equal("fairlead:alice"))

	w.Eventually(func(g Gomega) {
		out, err := w.does(open, "alice", "top", "pods", "--no-headers")
		g.Expect(err).NotTo(HaveOccurred(), out)
		g.Expect(strings.Fields(out)).To(Equal([]string{"web", "123m", "64Mi"}))
	})
}

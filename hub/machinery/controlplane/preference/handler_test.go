package preference

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// whole returns the encoded metadata of an object.
func whole(t *testing.T) []byte {
	t.Helper()
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "es-edge-1", Name: "web", UID: "811772cd", ResourceVersion: "42", Generation: 3,
		Annotations: map[string]string{"long": strings.Repeat("all work and no play ", 20)},
	}}
	object.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	var out bytes.Buffer
	NewWithT(t).Expect(serializer.Encode(object, &out)).To(Succeed())
	return out.Bytes()
}

// ask returns the response to a request for a resource, with a Prefer header.
func ask(t *testing.T, method, verb, prefers string, answer http.HandlerFunc) (*http.Response, []byte) {
	t.Helper()
	g := NewWithT(t)
	ours := Handler(answer)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info := &request.RequestInfo{IsResourceRequest: true, Verb: verb, Name: "web"}
		ours.ServeHTTP(w, req.WithContext(request.WithRequestInfo(req.Context(), info)))
	}))
	t.Cleanup(s.Close)
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, s.URL, http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	if prefers != "" {
		req.Header.Set("Prefer", prefers)
	}
	resp, err := s.Client().Do(req)
	g.Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(resp.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return resp, body
}

func says(status int, contentType string, parts ...[]byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		for _, part := range parts {
			_, _ = w.Write(part)
		}
	}
}

func TestTheAnswerToAWriteIsCutToItsVersion(t *testing.T) {
	t.Parallel()
	for _, prefers := range []string{"return=minimal", "respond-async, Return = minimal; foo=bar"} {
		g := NewWithT(t)
		sent := whole(t)
		resp, body := ask(t, http.MethodPatch, "patch", prefers, says(http.StatusOK, runtime.ContentTypeProtobuf, sent[:100], sent[100:]))
		g.Expect(resp.StatusCode).To(Equal(http.StatusOK))
		g.Expect(resp.Header.Get("Preference-Applied")).To(Equal("return=minimal"))
		g.Expect(len(body)).To(BeNumerically("<", 100))
		got, _, err := serializer.Decode(body, nil, nil)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got.(*metav1.PartialObjectMetadata).ObjectMeta).To(Equal(metav1.ObjectMeta{UID: "811772cd", ResourceVersion: "42", Generation: 3}))
	}
}

func TestOtherAnswersPassAsTheyAre(t *testing.T) {
	t.Parallel()
	metadata := whole(t)
	long := bytes.Repeat([]byte("x"), keepUpTo)
	for name, tc := range map[string]struct {
		method, verb, prefers string
		status                int
		contentType           string
		parts                 [][]byte
	}{
		"to who says nothing":           {http.MethodPatch, "patch", "", http.StatusOK, runtime.ContentTypeProtobuf, [][]byte{metadata}},
		"to who prefers all":            {http.MethodPatch, "patch", "return=representation", http.StatusOK, runtime.ContentTypeProtobuf, [][]byte{metadata}},
		"to who reads":                  {http.MethodGet, "get", minimal, http.StatusOK, runtime.ContentTypeProtobuf, [][]byte{metadata}},
		"to who creates":                {http.MethodPost, "create", minimal, http.StatusCreated, runtime.ContentTypeProtobuf, [][]byte{metadata}},
		"errors":                        {http.MethodPatch, "patch", minimal, http.StatusConflict, runtime.ContentTypeProtobuf, [][]byte{metadata}},
		"JSON":                          {http.MethodPatch, "patch", minimal, http.StatusOK, runtime.ContentTypeJSON, [][]byte{[]byte("{}")}},
		"what is no metadata":           {http.MethodPut, "update", minimal, http.StatusOK, runtime.ContentTypeProtobuf, [][]byte{[]byte("k8s\x00"), []byte("something else")}},
		"what is too long to look at":   {http.MethodPut, "update", minimal, http.StatusOK, runtime.ContentTypeProtobuf, [][]byte{metadata, long, metadata}},
		"what has nothing but a header": {http.MethodPut, "update", minimal, http.StatusOK, runtime.ContentTypeProtobuf, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			resp, body := ask(t, tc.method, tc.verb, tc.prefers, says(tc.status, tc.contentType, tc.parts...))
			g.Expect(resp.StatusCode).To(Equal(tc.status))
			g.Expect(bytes.Equal(body, bytes.Join(tc.parts, nil))).To(BeTrue())
			g.Expect(resp.Header).NotTo(HaveKey("Preference-Applied"))
		})
	}
	t.Run("what is sent bit by bit", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		_, body := ask(t, http.MethodPatch, "patch", minimal, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
			_, _ = w.Write(metadata[:10])
			w.(http.Flusher).Flush()
			_, _ = w.Write(metadata[10:])
		})
		g.Expect(bytes.Equal(body, metadata)).To(BeTrue())
	})
}

// BenchmarkAnswer measures a response of 500 bytes.
func BenchmarkAnswer(b *testing.B) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "es-edge-1", Name: "web", UID: "811772cd", ResourceVersion: "42",
		Annotations: map[string]string{"long": strings.Repeat("all work and no play ", 20)},
	}}
	object.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	var whole bytes.Buffer
	if err := serializer.Encode(object, &whole); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if trimMetadata(whole.Bytes()) == nil {
			b.Fatal("it is not cut")
		}
	}
}

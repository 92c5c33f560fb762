package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"fairlead.dev/common/contract"
)

// askTimeout bounds the agent's own requests to the member.
const askTimeout = 5 * time.Second

// maxAnswer bounds the part of an answer that is read, in bytes.
const maxAnswer = 1 << 20

// memberAPI makes the few requests that admitting operators needs with the agent's own rights.
type memberAPI struct {
	http *http.Client
	base *url.URL
}

func newMemberAPI(config *rest.Config) (memberAPI, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return memberAPI{}, fmt.Errorf("connecting to the member: %w", err)
	}
	base, err := serverOf(config)
	if err != nil {
		return memberAPI{}, err
	}
	own := *httpClient // a copy, since the client may be shared
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return memberAPI{http: &own, base: base}, nil
}

// serverOf returns the address of the member's API, without a trailing slash.
func serverOf(config *rest.Config) (*url.URL, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the member: %w", err)
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	return base, nil
}

// statusError is an answer of the member other than success.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string { return e.message }

// hasCode returns whether an error is an answer with this status code.
func hasCode(err error, code int) bool {
	answer, ok := errors.AsType[*statusError](err)
	return ok && answer.code == code
}

// settings returns the data of the ConfigMap that holds the owner's rules.
func (m memberAPI) settings(ctx context.Context) (map[string]string, error) {
	var out corev1.ConfigMap
	path := "/api/v1/namespaces/" + contract.SystemNamespace + "/configmaps/" + contract.ConnectName
	if err := m.do(ctx, http.MethodGet, path, asJSON, nil, &out); err != nil {
		return nil, err
	}
	return out.Data, nil
}

// lastWord returns the annotation with the owner's last word; empty if there is none.
func (m memberAPI) lastWord(ctx context.Context) (string, error) {
	var out metav1.PartialObjectMetadata
	path := "/api/v1/namespaces/" + contract.SystemNamespace + "/secrets/" + contract.AgentName
	if err := m.do(ctx, http.MethodGet, path, asMetadata, nil, &out); err != nil {
		return "", err
	}
	return out.Annotations[contract.LastWordAnnotation], nil
}

// issueToken requests a token of the ServiceAccount that may only impersonate.
func (m memberAPI) issueToken(ctx context.Context) (*authenticationv1.TokenRequest, error) {
	asked := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(tokenLife)}}
	path := "/api/v1/namespaces/" + contract.SystemNamespace + "/serviceaccounts/" + contract.ConnectName + "/token"
	var got authenticationv1.TokenRequest
	if err := m.do(ctx, http.MethodPost, path, asJSON, asked, &got); err != nil {
		return nil, fmt.Errorf("asking for a token of ServiceAccount %s/%s: %w", contract.SystemNamespace, contract.ConnectName, err)
	}
	return &got, nil
}

// Media types that the member is asked for.
const (
	asJSON = "application/json"
	// asMetadata asks for the metadata of an object only.
	asMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
)

// do makes a request and decodes its answer.
func (m memberAPI) do(ctx context.Context, method, path, form string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var sent io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encoding a request: %w", err)
		}
		sent = bytes.NewReader(raw)
	}
	target := *m.base
	target.Path += path
	request, err := http.NewRequestWithContext(ctx, method, target.String(), sent)
	if err != nil {
		return fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set("Accept", form)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := m.http.Do(request)
	if err != nil {
		return fmt.Errorf("asking the member: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("reading the member's answer: %w", err)
	}
	if answer.StatusCode < http.StatusOK || answer.StatusCode >= http.StatusMultipleChoices {
		var status metav1.Status
		if json.Unmarshal(raw, &status) != nil || status.Message == "" {
			status.Message = answer.Status
		}
		return &statusError{code: answer.StatusCode, message: status.Message}
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("decoding the member's answer: %w", err)
	}
	return nil
}

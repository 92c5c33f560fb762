package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// unsent begins a request body, sends no more of it, and measures the time until the request is rejected.
func (s *system) unsent(ctx context.Context) error {
	c, err := rest.HTTPClientFor(s.way)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	body, more := io.Pipe()
	defer func() { _ = more.Close() }() // closing a pipe never fails
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.way.Host+"/api/v1/namespaces/default/configmaps", body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	began := time.Now()
	go func() { _, _ = io.WriteString(more, "{") }() // until the body is closed
	response, err := c.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	var status metav1.Status
	if err := json.NewDecoder(response.Body).Decode(&status); err != nil {
		return fmt.Errorf("reading the answer %s: %w", response.Status, err)
	}
	if response.StatusCode != http.StatusRequestTimeout {
		return fmt.Errorf("a body that does not come is answered %s: %s", response.Status, status.Message)
	}
	progress("%s: %s", response.Status, status.Message)
	s.bars.Most("a body that does not come is refused", time.Since(began).Seconds(), barUnsent, "s")
	return nil
}

package issuer

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"
)

// Claims are what an ID token says.
type Claims map[string]any

// With returns the same with another claim.
func (c Claims) With(name string, value any) Claims {
	c = maps.Clone(c)
	c[name] = value
	return c
}

// Claims are what an honest ID token says of a person.
func (i *Issuer) Claims(person string, groups []string, life time.Duration) Claims {
	now := time.Now()
	return Claims{
		"iss": i.URL, "aud": i.ClientID, "sub": person, "groups": groups, "iat": now.Unix(), "exp": now.Add(life).Unix(),
		"jti": rand.Text(), // no two are the same, as with real ones
	}
}

// Sign makes an ID token that the issuer's key signed.
func (i *Issuer) Sign(claims Claims) string { return SignBy(i.key, claims) }

// SignBy makes an ID token that another key signed.
func SignBy(key *rsa.PrivateKey, claims Claims) string {
	text := encode(Claims{"alg": "RS256", "kid": "one"}) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(fmt.Sprintf("signing a token: %v", err)) // no test goes on from here
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// SignWith makes an ID token that whoever knows a secret signed, or whoever knows the public key, if that is the secret.
func SignWith(secret []byte, claims Claims) string {
	text := encode(Claims{"alg": "HS256", "kid": "one"}) + "." + encode(claims)
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write([]byte(text)) // it never fails
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// PublicKey is that of the issuer, as files have it.
func (i *Issuer) PublicKey() []byte {
	der, err := x509.MarshalPKIXPublicKey(&i.key.PublicKey)
	if err != nil {
		panic(fmt.Sprintf("encoding the issuer's public key: %v", err)) // no test goes on from here
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// Unsigned makes an ID token that nobody signed.
func Unsigned(claims Claims) string {
	return encode(Claims{"alg": "none"}) + "." + encode(claims) + "."
}

func encode(part Claims) string {
	data, err := json.Marshal(part)
	if err != nil {
		panic(fmt.Sprintf("encoding a token: %v", err)) // no test goes on from here
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// token gives tokens for a code or a refresh token, each of which is good once.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	refuse := func(code string) {
		reply(w, http.StatusBadRequest, Claims{"error": code, "error_description": "refused by the test's issuer"})
	}
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if basic { // RFC 6749 has both encoded as in forms
		secret, _ = url.QueryUnescape(secret) // one that cannot be is another
	}
	if id != i.ClientID || secret != i.ClientSecret {
		refuse("invalid_client")
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	var to grant
	var ok bool
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		code := r.PostFormValue("code")
		to, ok = i.s.codes[code]
		delete(i.s.codes, code)
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		ok = ok && to.redirect == r.PostFormValue("redirect_uri") && to.challenge == base64.RawURLEncoding.EncodeToString(sum[:])
	case "refresh_token":
		token := r.PostFormValue("refresh_token")
		to, ok = i.s.refresh[token]
		delete(i.s.refresh, token)
		if i.s.renewed++; !ok {
			i.s.renewed--
			i.s.reused++
		}
	}
	if !ok {
		refuse("invalid_grant")
		return
	}
	claims := i.Claims(to.person, to.groups, i.s.life).With("nonce", to.nonce)
	mint := i.Sign
	if i.s.mint != nil {
		mint = i.s.mint
	}
	answer := Claims{"access_token": rand.Text(), "token_type": "Bearer", "id_token": mint(claims)}
	if i.s.refreshes {
		refresh := rand.Text()
		i.s.refresh[refresh] = to
		answer["refresh_token"] = refresh
	}
	reply(w, http.StatusOK, answer)
}

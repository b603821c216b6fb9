// Exchanges the one-time token in the address for a session cookie, and says who is signed in.
const state = document.getElementById("state");
const token = new URLSearchParams(location.hash.slice(1)).get("token");
history.replaceState(null, "", location.pathname);

async function signIn() {
  if (token === null) return fetch("/api/v1/session");
  return fetch("/api/v1/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
  });
}

const answer = await signIn();
const body = await answer.json();
state.textContent = answer.ok
  ? `You are signed in as ${body.user.name}.`
  : answer.status === 401 && token === null
    ? "You are not signed in. Open the link that the server printed when it started."
    : body.detail;

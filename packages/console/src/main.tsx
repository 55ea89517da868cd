import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { isSignedOut, sessionQuery } from "./api.ts";
import { Toasts } from "./components/ui/toast.tsx";
import { createAppRouter } from "./router.tsx";
import "./theme.css";

const queries = new QueryClient({
  queryCache: new QueryCache({
    // A person who was signed out elsewhere is sent to sign-in by the next link, not by the page that holds their text.
    onError: (error, { queryKey }) => {
      if (isSignedOut(error) && queryKey[0] !== sessionQuery.queryKey[0]) {
        void queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
      }
    },
  }),
  defaultOptions: {
    // The client already retries what is safe to retry. Remaining failures are shown with a retry button.
    queries: {
      retry: false,
      staleTime: 10_000,
      refetchOnWindowFocus: true,
      // Fail without a network instead of loading until it returns.
      networkMode: "always",
      refetchOnReconnect: true,
    },
  },
});
const router = createAppRouter(queries);

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no root element.");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
      <Toasts />
    </QueryClientProvider>
  </StrictMode>,
);

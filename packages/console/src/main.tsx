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
    // Whoever was signed out elsewhere is led to the sign-in by the next link, and not by the page that holds their text.
    onError: (error, { queryKey }) => {
      if (isSignedOut(error) && queryKey[0] !== sessionQuery.queryKey[0]) {
        void queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
      }
    },
  }),
  defaultOptions: {
    // The client repeats what may be repeated; what fails then is shown, with a button.
    queries: {
      retry: false,
      staleTime: 10_000,
      refetchOnWindowFocus: true,
      // Without a network a page says so: otherwise it would load until there is one.
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
